/** A message that is answered without the library is answered as the library would have answered it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KnownEnvelopes } from "../../../src/modules/mcp/endpoint.ts";
import { readPlain, readPlainInSession } from "../../../src/modules/mcp/plain-request.ts";
import { openMcp, type TestMcp } from "../../support/mcp.ts";
import { beginSession, inSession } from "../../support/mcp-session.ts";

type Json = Record<string, unknown>;

/** A message and the header fields that are sent with it. */
interface Message {
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

const OWN = "io.modelcontextprotocol";
const ENVELOPE: Json = {
  [`${OWN}/protocolVersion`]: "2026-07-28",
  [`${OWN}/clientInfo`]: { name: "a-test", version: "1" },
  [`${OWN}/clientCapabilities`]: {},
};

/** A well-formed message of a method. */
function messageOf(method: string, params: Json = {}, meta: Json = {}): Message {
  const { name } = params;
  return {
    body: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: { ...ENVELOPE, ...meta } } },
    headers: {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" ? { "mcp-name": name } : {}),
    },
  };
}

function callOf(name: string, given: unknown = {}, meta: Json = {}): Message {
  return messageOf("tools/call", { name, arguments: given }, meta);
}

const WELL_FORMED: readonly (readonly [string, Message])[] = [
  ["a call", callOf("cancel_orders", { order_id: "7", quantity: 2 })],
  ["a call without arguments", messageOf("tools/call", { name: "audit_orders" })],
  ["arguments that do not fit", callOf("cancel_orders", { quantity: "two" })],
  ["a tool that is none", callOf("cancel_everything")],
  ["a tool without a name", callOf("")],
  ["a fault", callOf("create_failures")],
  ["a page of text", callOf("fetch_pages")],
  ["a record on demand", callOf("audit_orders", {}, { "io.agtp/record": true })],
  ["a key that is none", callOf("audit_orders", {}, { "io.agtp/idempotency-key": 7 })],
  ["a trace", callOf("fetch_fields", {}, { traceparent: "00-ab-cd-01" })],
  ["a list", messageOf("tools/list")],
  ["a page", messageOf("tools/list", { cursor: cursorAfter("create_orders") })],
  ["a cursor that is none", messageOf("tools/list", { cursor: "after" })],
];

function cursorAfter(name: string): string {
  return Buffer.from(`after:${name}`).toString("base64url");
}

const known = new KnownEnvelopes();

function fieldsOf({ headers }: Message): Record<string, string> {
  const accept = "application/json, text/event-stream";
  return { accept, ...headers, "content-type": "application/json" };
}

function sentBody({ body }: Message): unknown {
  return JSON.parse(JSON.stringify(body));
}

function isPlain(message: Message): boolean {
  const isKnown = (one: Json): boolean => known.has(one);
  return readPlain(fieldsOf(message), sentBody(message), isKnown) !== undefined;
}

/** The answer without what is another one each time. */
async function answerTo(
  server: TestMcp,
  { body, headers }: Message,
  contentType: string,
  method = "POST",
): Promise<Json> {
  const accept = "application/json, text/event-stream";
  const response = await server.fetch("/mcp", {
    method,
    headers: { accept, ...headers, "content-type": contentType },
    body: JSON.stringify(body),
  });
  const text = (await response.text())
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "(id)")
    .replaceAll(/("io\.agtp\/(?:audit-id|attribution-record)"):"[^"]+"/g, `$1:"(another)"`);
  // The library streams every answer of a session, which is one message.
  const [, streamed] = /^(?:event: message\n)?data: (.*)\n\n$/s.exec(text) ?? [];
  const [whole] = response.headers.get("content-type")?.split(";") ?? [];
  const type = streamed === undefined ? whole : "application/json";
  const session = response.headers.get("mcp-session-id");
  const said: unknown = text === "" ? text : JSON.parse(streamed ?? text);
  return { status: response.status, type, session, body: said };
}

/** Parameters of the content type mean nothing, but no plain request has any of its own. */
const LIBRARY = "application/json; of=the-library";

async function expectAgreement(server: TestMcp, message: Message, method?: string): Promise<void> {
  const here = await answerTo(server, message, "application/json", method);
  const library = await answerTo(server, message, LIBRARY, method);
  expect(here, JSON.stringify(message)).toEqual(library);
}

describe("a well-formed request of 2026-07-28", () => {
  it("is answered as the library would", async () => {
    const server = await openMcp();
    for (const [title, message] of WELL_FORMED) {
      expect(isPlain(message), title).toBe(true);
      await expectAgreement(server, message);
    }
  });
});

const name = fc.constantFrom(
  ...["cancel_orders", "audit_orders", "none", "", " ", "=?base64?YQ==?=", "__proto__", "é"],
);
const given = fc.oneof(
  fc.record({ order_id: fc.string(), quantity: fc.integer() }, { requiredKeys: [] }),
  fc.dictionary(fc.constantFrom("order_id", "__proto__", "x"), fc.jsonValue({ maxDepth: 2 })),
  fc.jsonValue({ maxDepth: 3 }),
);
const cursor = fc.oneof(fc.string(), fc.constant(cursorAfter("b")), fc.jsonValue({ maxDepth: 1 }));
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom("2026-07-28", "2025-11-25", "tools/call", "2.0", undefined),
);
const metaName = fc.constantFrom(
  ...[`${OWN}/protocolVersion`, `${OWN}/clientInfo`, `${OWN}/clientCapabilities`],
  ...[`${OWN}/logLevel`, `${OWN}/other`, "progressToken", "traceparent", "baggage"],
  ...["io.agtp/idempotency-key", "io.agtp/escalation-id", "io.agtp/record", "x", "__proto__"],
);
const meta = fc.dictionary(metaName, value, { maxKeys: 2 });
const client = fc.record(
  {
    name: fc.oneof(fc.string(), value),
    version: fc.oneof(fc.string(), value),
    title: fc.oneof(fc.string(), value),
    icons: value,
  },
  { requiredKeys: [] },
);
const capabilities = fc.dictionary(
  fc.constantFrom("elicitation", "roots", "sampling", "extensions", "experimental", "x"),
  fc.oneof(fc.constant({}), fc.constant({ form: {} }), value),
  { maxKeys: 2 },
);
const envelope = fc.record(
  { [`${OWN}/clientInfo`]: client, [`${OWN}/clientCapabilities`]: capabilities },
  { requiredKeys: [] },
);
const wellFormed = fc
  .tuple(fc.constantFrom("call", "list"), name, given, cursor, fc.oneof(meta, envelope))
  .map(([kind, ...parts]) => {
    const [tool, input, place, more] = parts;
    return kind === "call"
      ? callOf(tool, input, more)
      : messageOf("tools/list", { cursor: place }, more);
  });

/** One member of a message, or of what is beside it, is another. */
const change = fc.oneof(
  fc.record({ in: fc.constant("body"), name: bodyName(), value }),
  fc.record({ in: fc.constant("params"), name: paramName(), value }),
  fc.record({ in: fc.constant("headers"), name: headerName(), value }),
);

function bodyName() {
  return fc.constantFrom("jsonrpc", "id", "method", "params", "result", "x", "__proto__");
}

function paramName() {
  return fc.constantFrom("name", "arguments", "cursor", "_meta", "requestState", "task", "x");
}

function headerName() {
  return fc.constantFrom("mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id");
}

function changed(message: Message, one: { in: string; name: string; value: unknown }): Message {
  const body = message.body as { params: Json };
  if (one.in === "headers") {
    const { [one.name]: _gone, ...others } = message.headers;
    const field = typeof one.value === "string" && /^[!-~]+$/.test(one.value) ? one.value : "";
    return { body, headers: field === "" ? others : { ...others, [one.name]: field } };
  }
  if (one.in === "params") {
    return { ...message, body: { ...body, params: { ...body.params, [one.name]: one.value } } };
  }
  return { ...message, body: { ...body, [one.name]: one.value } };
}

describe("any request", () => {
  it("is answered as the library would, whatever is strange about it", async () => {
    const server = await openMcp();
    const message = fc
      .tuple(wellFormed, fc.array(change, { maxLength: 2 }))
      .map(([one, changes]) => changes.reduce(changed, one));
    await fc.assert(
      fc.asyncProperty(message, (one) => expectAgreement(server, one)),
      { numRuns: 60 },
    );
  });
});

/** The same message in a session, which has no envelope. */
function inOlder({ body, headers }: Message, sessionId: string): Message {
  const { params, ...rest } = body as { params?: Json };
  const { _meta, ...others } = params ?? {};
  const kept = Object.entries(_meta ?? {}).filter(([one]) => !one.startsWith(OWN));
  return {
    body: { ...rest, params: { ...others, _meta: Object.fromEntries(kept) } },
    headers: { ...headers, ...inSession(sessionId) },
  };
}

describe("a request of 2025-11-25", () => {
  it("is answered as the library would, but for the stream", async () => {
    const server = await openMcp();
    const id = await beginSession(server);
    for (const [title, message] of WELL_FORMED) {
      const older = inOlder(message, id);
      expect(readPlainInSession(fieldsOf(older), sentBody(older)), title).toBeDefined();
      await expectAgreement(server, older);
    }
  });

  it("is answered so whatever is strange about it", async () => {
    const server = await openMcp();
    const id = await beginSession(server);
    const message = fc
      .tuple(wellFormed, fc.array(change, { maxLength: 2 }))
      .map(([one, changes]) => changes.reduce(changed, inOlder(one, id)));
    await fc.assert(
      fc.asyncProperty(message, (one) => expectAgreement(server, one)),
      { numRuns: 60 },
    );
  });
});

describe("a message that is not posted", () => {
  it("is no request, whatever stands in it", async () => {
    const server = await openMcp();
    await expectAgreement(server, callOf("audit_orders"), "DELETE");
    const answer = await answerTo(server, callOf("audit_orders"), "application/json", "DELETE");
    expect(answer["status"]).not.toBe(200);
  });
});

describe("what is left to the library", () => {
  it.each([
    ["a batch", { ...callOf("a"), body: [callOf("a").body] }],
    ["another protocol", callOf("a", {}, { [`${OWN}/protocolVersion`]: "2025-11-25" })],
    ["progress", callOf("a", {}, { progressToken: 1 })],
    ["a client that is nobody", callOf("a", {}, { [`${OWN}/clientInfo`]: { name: 7 } })],
    ["null where nothing may be", callOf("a", {}, { [`${OWN}/clientInfo`]: null })],
    ["an answer to a question", messageOf("tools/call", { name: "a", requestState: "x" })],
    ["another method", messageOf("server/discover")],
    ["a header that disagrees", { ...callOf("a"), headers: callOf("b").headers }],
    ["a name that is encoded", callOf("=?base64?YQ==?=")],
    [
      "an id that is no whole number",
      { ...callOf("a"), body: { ...bodyOf(callOf("a")), id: 1.5 } },
    ],
  ])("%s", (_, message) => {
    expect(isPlain(callOf("a"))).toBe(true);
    expect(isPlain(message)).toBe(false);
  });
});

function bodyOf({ body }: Message): Json {
  return body as Json;
}
