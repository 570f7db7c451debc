import { describe, expect, it } from "vitest";
import { ANONYMOUS, type Caller } from "../../src/dispatch/caller/caller.ts";
import { AGTP_JSON, type Reply } from "../../src/dispatch/reply.ts";
import { createStamp } from "../../src/dispatch/stamp.ts";
import type { AgentDocument } from "../../src/identity/agent-document.ts";
import { makeExchange, makeRoute } from "../support/exchange.ts";
import { fieldsOf } from "../support/responses.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function reply(more: Partial<Reply> = {}): Reply {
  return {
    status: 200,
    body: { ok: true },
    contentType: AGTP_JSON,
    headers: undefined,
    refusal: undefined,
    ...more,
  };
}

// AGTP "Response Headers"
describe("createStamp", () => {
  const stamp = createStamp({
    serverId: "agents.example",
    attributor: undefined,
    directory: { find: () => undefined },
    defaultAgent: undefined,
    supportedMethods: "QUERY, DISCOVER, BOOK",
  });

  it("puts Server-ID and a fresh UUIDv7 on every response, even without a request", () => {
    const [first, second] = [fieldsOf(stamp(reply())), fieldsOf(stamp(reply()))];
    expect(first["Server-ID"]).toBe("agents.example");
    expect(first["AGTP-API-Version"]).toBe("1.0");
    expect(first["Response-ID"]).toMatch(UUID_V7);
    expect(first["Response-ID"]).not.toBe(second["Response-ID"]);
  });

  it("says beside the fields which Response-ID stands in them", () => {
    const response = stamp(reply());
    expect(fieldsOf(response)["Response-ID"]).toBe(response.responseId);
  });

  it.each([
    ["text/csv; charset=utf-8", "a,b\n", "a,b\n"],
    ["image/svg+xml", "<svg/>", "<svg/>"],
    ["text/csv", { a: 1 }, '{"a":1}'],
    ["application/problem+json", "a", '"a"'],
    ["Application/JSON; charset=utf-8", "a", '"a"'],
    [AGTP_JSON, "a", '"a"'],
  ])("sends a body of %s as that: %j", (contentType, body, sent) => {
    expect(String(stamp(reply({ contentType, body })).body)).toBe(sent);
  });

  it("writes the fields of a reply as they are given", () => {
    const headers = { ETag: '"1"', "X-Odd": "é" };
    expect(fieldsOf(stamp(reply({ headers })))).toMatchObject(headers);
  });

  it("echoes identifiers verbatim, malformed ones too", () => {
    const headers = { "agent-id": "NOT ONE", "request-id": "7", "task-id": "a b" };
    const fields = fieldsOf(stamp(reply(), makeExchange({ headers })));
    expect(fields).toMatchObject({ "Agent-ID": "NOT ONE", "Request-ID": "7", "Task-ID": "a b" });
  });

  it("echoes no identifier that is too long to be one", () => {
    const long = "7".repeat(257);
    const headers = { "agent-id": long, "request-id": long, "task-id": long };
    const fields = fieldsOf(stamp(reply(), makeExchange({ headers })));
    for (const name of ["Agent-ID", "Request-ID", "Task-ID"]) {
      expect(fields).not.toHaveProperty(name);
    }
  });

  it("echoes a Task-ID that came in an envelope", () => {
    const exchange = makeExchange();
    exchange.taskId = "from-the-body";
    expect(fieldsOf(stamp(reply(), exchange))["Task-ID"]).toBe("from-the-body");
  });

  it("names the methods on the first response of a connection alone", () => {
    const first = makeExchange();
    first.isFirst = true;
    expect(fieldsOf(stamp(reply(), first))["Supported-Methods"]).toBe("QUERY, DISCOVER, BOOK");
    expect(fieldsOf(stamp(reply(), makeExchange()))).not.toHaveProperty("Supported-Methods");
  });

  it("echoes nothing that was not sent", () => {
    const names = Object.keys(fieldsOf(stamp(reply(), makeExchange())));
    expect(names).toEqual(["Server-ID", "AGTP-API-Version", "Response-ID", "Content-Type"]);
  });

  it("echoes what each request of a connection says, whatever the ones before said", () => {
    const [agentId, other] = ["a".repeat(64), "b".repeat(64)];
    const echoed = (of: string, more: Record<string, string> = {}) => {
      const exchange = makeExchange({ headers: { "agent-id": of, ...more } });
      exchange.caller = callers[of] ?? ANONYMOUS;
      exchange.isNamed = true;
      const fields = fieldsOf(stamp(reply(), exchange));
      return [fields["Agent-ID"], fields["Request-ID"], fields["Task-ID"]];
    };
    const document = { agentId } as AgentDocument;
    const callers: Record<string, Caller> = {
      [agentId]: { ...ANONYMOUS, agentId, document },
      [other]: { ...ANONYMOUS, agentId: other, document },
    };
    for (const of of [agentId, agentId, agentId, other, agentId, other, other]) {
      expect(echoed(of)).toEqual([of, undefined, undefined]);
    }
    expect(echoed(other, { "request-id": "7" })).toEqual([other, "7", undefined]);
    expect(echoed(other, { "task-id": "8" })).toEqual([other, undefined, "8"]);
    expect(echoed(other)).toEqual([other, undefined, undefined]);
  });

  // AGTP-API §4.4, §6.5
  it.each([200, 422, 500] as const)("carries both warnings on a %i", (status) => {
    const exchange = makeExchange();
    exchange.catalogWarning = "deprecated";
    exchange.route = makeRoute({ warning: "deprecated; successor=RESERVE" });
    expect(fieldsOf(stamp(reply({ status }), exchange))).toMatchObject({
      "AGTP-Catalog-Warning": "deprecated",
      "AGTP-Endpoint-Warning": "deprecated; successor=RESERVE",
    });
  });

  it("sends bytes as they are, with their own type", () => {
    const body = Buffer.from("{}");
    const response = stamp(reply({ body, contentType: "application/vnd.agtp.manifest+json" }));
    expect(response.body).toEqual(body);
    expect(fieldsOf(response)["Content-Type"]).toBe("application/vnd.agtp.manifest+json");
  });

  it.each([
    ["a 204", reply({ status: 204 })],
    ["no body", reply({ body: undefined })],
  ])("sends neither body nor Content-Type for %s", (_, bodiless) => {
    const response = stamp(bodiless);
    expect(response.body).toBe("");
    expect(fieldsOf(response)).not.toHaveProperty("Content-Type");
  });

  it.each([null, 0, false, "", []])("sends the JSON value %j", (body) => {
    expect(stamp(reply({ body })).body).toBe(JSON.stringify(body));
  });

  it("throws for a body that has no JSON form", () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    for (const body of [circular, 1n, () => 1]) expect(() => stamp(reply({ body }))).toThrow();
  });
});
