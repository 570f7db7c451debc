/**
 * The ways in which a call that needs an approval reaches a daemon: over AGTP, over HTTP, inside of
 * EXECUTE, as a composition, and as an MCP tool of either protocol. Each answers in the same words, so
 * that one test says what holds for all.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { afterAll } from "vitest";
import { ALMA, approvedEndpoint, approvingFiles } from "./approving.ts";
import { askOnce } from "./daemon.ts";
import type { TestReply, TestRequest } from "./dispatch.ts";
import type { Tables } from "./gateway.ts";
import { openMcp, type TestMcp } from "./mcp.ts";
import { CA_EXTENSIONS, OpensslPki } from "./openssl-pki.ts";
import { type Payload, readJws } from "./records.ts";
import { confirmation } from "./waiting.ts";

/** A call of a guest's room. */
interface RoomCall {
  readonly room: string;
  readonly guest: string;
}

/** An answer, in the words that all ways have in common. */
export interface WayAnswer {
  /** The code of the refusal, or "done". */
  readonly outcome: string;
  readonly escalationId: string | undefined;
  /** What the answer's record says. */
  readonly record: Payload;
}

/** One way. */
export interface Way {
  readonly name: string;
  ask(server: WaysServer, call: RoomCall, escalationId?: string): Promise<WayAnswer>;
  /** The endpoint file that asks for the approval. */
  readonly endpoint: "book" | "composed";
}

/** A daemon that all ways lead to, and its operator. */
export interface WaysServer extends TestMcp {
  decide(escalationId: string, status: string): Promise<TestReply>;
  /** Reloads with another description of an endpoint, or with other rules. */
  change(what: "endpoint" | "policy", way: Way): Promise<void>;
  session(): Promise<Client>;
}

/** An operator whose certificate a daemon of the test knows. */
interface TestOperator {
  /** Makes others, by its "ca". */
  readonly pki: OpensslPki;
  readonly ca: string;
  readonly fingerprint: string;
  readonly connection: { readonly cert: string; readonly key: string };
}

/** Makes the operator of a test file. */
export function makeOperator(): TestOperator {
  const pki = new OpensslPki();
  afterAll(() => pki.remove());
  const ca = pki.make("ca", { extensions: CA_EXTENSIONS });
  const { cert, key, x509 } = pki.make("operator", { issuer: "ca" });
  const spki = x509.publicKey.export({ type: "spki", format: "der" });
  const fingerprint = createHash("sha256").update(spki).digest("hex");
  return { pki, ca: ca.cert, fingerprint, connection: { cert, key } };
}

const RECIPE = `
[[recipe]]
name = "composed"
version = "1"
description = "Of a test."
aggregation = { mode = "last" }
[[recipe.steps]]
method = "RESERVE"
path = "/rooms/{room}"
[recipe.steps.parameters.room]
kind = "proposal"
value = "room"
[recipe.steps.parameters.guest]
kind = "proposal"
value = "guest"
`;

const OTHER_RULES = [{ impact: "irreversible", method: "BOOK", approval: "operator" }];

function composedFile(description: string): string {
  return approvedEndpoint({
    ...{ method: "RESERVE", path: "/composed/{room}", approval: "operator", description },
    ...{ required_scopes: ["booking:room"], errors: ["composition_failed"] },
    handler: { type: "composition", recipe: "composed" },
  });
}

function bookFile(description: string): string {
  return approvedEndpoint({
    ...{ method: "BOOK", path: "/rooms/{room}", approval: "operator", description },
    ...{ required_scopes: ["booking:room"], tool: "book" },
    handler: { type: "registered_function", function: "handlers.book" },
  });
}

/** The files of the deployment that all ways lead to. */
export async function waysFiles(
  operator: TestOperator,
  approvals: readonly object[] = [],
  tables: Tables = {},
): Promise<Readonly<Record<string, string>>> {
  const identity = { operator_certificates: [operator.fingerprint] };
  const files = await approvingFiles(approvals, {
    policies: { identity },
    gateway: { enabled: true, port: 0, agent: "alma" },
    mcp: { enabled: true, anonymous: true },
    ...tables,
  });
  return {
    ...files,
    "ca.pem": operator.ca,
    "recipes/composed.toml": RECIPE,
    "endpoints/composed.toml": composedFile("Books by a recipe."),
    "endpoints/book.toml": bookFile("Books a room."),
  };
}

/** Starts the daemon for the running test. */
export async function openWays(operator: TestOperator): Promise<WaysServer> {
  const server = await openMcp(await waysFiles(operator));
  let session: Promise<Client> | undefined;
  return {
    ...server,
    decide: (id, status) => askOnce(server, confirmation(id, status), operator.connection),
    change: async (what, { endpoint }) => {
      const { directory, daemon } = server;
      const write = (name: string, text: string): void =>
        writeFileSync(join(directory, name), text);
      if (what === "policy") {
        write(
          "agtp-server.toml",
          (await waysFiles(operator, OTHER_RULES))["agtp-server.toml"] ?? "",
        );
      } else if (endpoint === "book") write("endpoints/book.toml", bookFile("Another one."));
      else write("endpoints/composed.toml", composedFile("Another one."));
      const problems = await daemon.reload();
      if (problems.length > 0) throw new Error(JSON.stringify(problems));
    },
    session: () => {
      session ??= server.connectClient("2025-11-25");
      return session;
    },
  };
}

function overAgtp(
  name: string,
  endpoint: Way["endpoint"],
  make: (call: RoomCall) => TestRequest,
): Way {
  return {
    ...{ name, endpoint },
    ask: async (server, call, escalationId) => {
      const request = make(call);
      const presented = escalationId === undefined ? {} : { "Escalation-ID": escalationId };
      const headers = { "Agent-ID": ALMA, ...presented };
      const { status, body, headers: fields } = await askOnce(server, { ...request, headers });
      return answerOf(status === 200, body, fields.get("attribution-record"));
    },
  };
}

function answerOf(isDone: boolean, body: unknown, jws: unknown): WayAnswer {
  const { error, escalation_id: id } = body as {
    readonly error?: { readonly code: string };
    readonly escalation_id?: string;
  };
  if (typeof jws !== "string") throw new Error(`no record came with ${JSON.stringify(body)}`);
  return {
    outcome: isDone ? "done" : String(error?.code),
    ...{ escalationId: id, record: readJws(jws).payload },
  };
}

const HTTP: Way = {
  ...{ name: "HTTP", endpoint: "book" },
  ask: async (server, { room, guest }, escalationId) => {
    const response = await server.fetch(`/rooms/${room}/book`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(escalationId === undefined ? {} : { "Escalation-ID": escalationId }),
      },
      body: JSON.stringify({ guest }),
    });
    const record = response.headers.get("attribution-record");
    return answerOf(response.status === 200, await response.json(), record);
  },
};

interface ToolResult {
  readonly isError?: boolean | undefined;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

function resultOf({ isError, content, _meta }: ToolResult): WayAnswer {
  // Beside what the refusal says a text says what to do about it.
  const body: unknown = JSON.parse(content[0]?.text ?? "{}");
  return answerOf(isError !== true, body, _meta?.["io.agtp/attribution-record"]);
}

function tool(version: "2026-07-28" | "2025-11-25"): Way {
  return {
    ...{ name: `MCP of ${version}`, endpoint: "book" },
    ask: async (server, { room, guest }, escalationId) => {
      const client = await (version === "2025-11-25"
        ? server.session()
        : server.connectClient(version));
      const presented = escalationId === undefined ? {} : { "io.agtp/escalation-id": escalationId };
      const called = await client.callTool({
        ...{ name: "book", arguments: { room, guest } },
        _meta: { "io.agtp/record": true, ...presented },
      });
      return resultOf(called as ToolResult);
    },
  };
}

/** All of them. */
export const WAYS: readonly Way[] = [
  overAgtp("AGTP", "book", ({ room, guest }) => ({
    ...{ method: "BOOK", path: `/rooms/${room}` },
    body: { guest },
  })),
  overAgtp("EXECUTE", "book", ({ room, guest }) => ({
    method: "EXECUTE",
    body: { action: `BOOK /rooms/${room}`, parameters: { guest } },
  })),
  overAgtp("a composition", "composed", ({ room, guest }) => ({
    ...{ method: "RESERVE", path: `/composed/${room}` },
    body: { guest },
  })),
  HTTP,
  tool("2026-07-28"),
  tool("2025-11-25"),
];
