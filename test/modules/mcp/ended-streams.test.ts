/** Streams of MCP clients end with the authority that they were begun under.   RFC 6750 §3.1 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Tables } from "../../support/gateway.ts";
import { mcpFiles, openMcp, type TestMcp } from "../../support/mcp.ts";
import {
  ACCEPT,
  beginSession,
  current,
  currentFields,
  inSession,
  messageOf,
  post,
} from "../../support/mcp-session.ts";
import { makeIssuerKey, signToken } from "../../support/token-issuer.ts";

const ISSUER = "https://id.example";
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const GUARDED: Tables = {
  policies: {
    oauth: { issuer: ISSUER, jwks_file: "jwks.json" },
    approvals: [{ method: "SEARCH", approval: "operator" }],
  },
};

interface Guarded extends TestMcp {
  readonly headers: Readonly<Record<string, string>>;
  /** The issuer takes the key of every token back. */
  revoke(): Promise<void>;
}

async function openGuarded(): Promise<Guarded> {
  const [key, other] = await Promise.all([makeIssuerKey(), makeIssuerKey()]);
  const jwks = (one: typeof key): string => JSON.stringify({ keys: [one.jwk] });
  const mcp = { enabled: true };
  const server = await openMcp(mcpFiles({ ...GUARDED, mcp }, { "jwks.json": jwks(key) }));
  const exp = Math.floor(Date.now() / 1000) + 3_600;
  const token = await signToken(key, { iss: ISSUER, sub: "ada", exp, aud: server.url.href });
  return {
    ...server,
    headers: { authorization: `Bearer ${token}` },
    revoke: async () => {
      writeFileSync(join(server.directory, "jwks.json"), jwks(other));
      expect(await server.daemon.reload()).toEqual([]);
    },
  };
}

/** Listens as a client of 2026-07-28. */
async function listen(server: Guarded, notifications: object): Promise<Response> {
  const method = "subscriptions/listen";
  const fields = { ...server.headers, ...currentFields(method) };
  return post(server, current(method, { notifications }, TASKS), fields);
}

/** Listens on the stream of a session of 2025-11-25. */
async function listenInSession(server: Guarded): Promise<Response> {
  const id = await beginSession(server, server.headers);
  const headers = { ...server.headers, ...inSession(id), accept: ACCEPT };
  return server.fetch("/mcp", { headers });
}

/** The id of a task that waits for an operator. */
async function beginTask(server: Guarded): Promise<unknown> {
  const params = { name: "search_orders", arguments: {} };
  const fields = { ...server.headers, ...currentFields("tools/call", params.name) };
  const response = await post(server, current("tools/call", params, TASKS), fields);
  return (await messageOf(response)).result?.["taskId"];
}

describe("a stream whose token is taken back", () => {
  it.each([
    ["of tools", async (server: Guarded) => listen(server, { toolsListChanged: true })],
    ["of tasks", async (server: Guarded) => listen(server, { taskIds: [await beginTask(server)] })],
    ["of a session", listenInSession],
  ])("%s ends", async (_, open) => {
    const server = await openGuarded();
    const response = await open(server);
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    await server.revoke();
    // It is read to its end.
    await response.text();
  });

  it("ends where MCP is served no more", async () => {
    const server = await openGuarded();
    const response = await listen(server, { toolsListChanged: true });
    const files = mcpFiles({ ...GUARDED, mcp: { enabled: false } });
    writeFileSync(join(server.directory, "agtp-server.toml"), String(files["agtp-server.toml"]));
    expect(await server.daemon.reload()).toEqual([]);
    await response.text();
  });
});
