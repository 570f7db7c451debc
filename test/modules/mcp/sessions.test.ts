/** Sessions of 2025-11-25: how they end, and how many there may be.   MCP 2025-11-25 "Session Management" */
import { describe, expect, it } from "vitest";
import type { McpRequest } from "../../../src/modules/mcp/front.ts";
import type { Audience } from "../../../src/modules/mcp/listening/audience.ts";
import type { OpenStreams } from "../../../src/modules/mcp/listening/open-streams.ts";
import { Sessions } from "../../../src/modules/mcp/sessions.ts";
import { mcpFiles, openMcp } from "../../support/mcp.ts";
import { beginSession, inSession, message, messageOf, post } from "../../support/mcp-session.ts";
import { makeIssuerKey, signToken } from "../../support/token-issuer.ts";

const LIST = message("tools/list");

describe("a session", () => {
  it("that its client ends is gone, and the client begins another", async () => {
    const server = await openMcp();
    const id = await beginSession(server);
    expect((await post(server, LIST, inSession(id))).status).toBe(200);
    const headers = inSession(id);
    expect((await server.fetch("/mcp", { method: "DELETE", headers })).status).toBe(200);
    const gone = await post(server, LIST, headers);
    expect(gone.status).toBe(404);
    expect(await messageOf(gone)).toMatchObject({ id: 1, error: { code: -32_001 } });
    expect((await server.fetch("/mcp", { method: "DELETE", headers })).status).toBe(404);
    const again = await beginSession(server);
    expect(again).not.toBe(id);
    expect(await messageOf(await post(server, LIST, inSession(again)))).toHaveProperty("result");
  });

  it.each([
    ["never was", "none"],
    ["has no name", ""],
    ["has a long name", "x".repeat(4_096)],
  ])("that %s is 404", async (_, id) => {
    const server = await openMcp();
    const headers = { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
    expect((await post(server, LIST, headers)).status).toBe(404);
  });

  it("of another principal does not exist", async () => {
    const key = await makeIssuerKey();
    const oauth = { issuer: "https://id.example", jwks_file: "jwks.json" };
    const tables = { policies: { oauth }, mcp: { enabled: true } };
    const jwks = JSON.stringify({ keys: [key.jwk] });
    const server = await openMcp(mcpFiles(tables, { "jwks.json": jwks }));
    const tokenOf = async (sub: string) => {
      const exp = Math.floor(Date.now() / 1_000) + 60;
      const claims = { iss: oauth.issuer, aud: server.url.href, sub, exp };
      return { authorization: `Bearer ${await signToken(key, claims)}` };
    };
    const [ada, eve] = [await tokenOf("ada"), await tokenOf("eve")];
    const id = await beginSession(server, ada);
    for (const method of ["DELETE", "GET", "POST"]) {
      const accept = "application/json, text/event-stream";
      const headers = { ...inSession(id), ...eve, accept, "content-type": "application/json" };
      const init = {
        method,
        headers,
        ...(method === "POST" ? { body: JSON.stringify(LIST) } : {}),
      };
      expect((await server.fetch("/mcp", init)).status).toBe(404);
    }
    expect((await post(server, LIST, { ...inSession(id), ...ada })).status).toBe(200);
  });

  it("has one stream of news, which begins with its headers", async () => {
    const server = await openMcp();
    const id = await beginSession(server);
    const headers = { ...inSession(id), accept: "text/event-stream" };
    const leaving = new AbortController();
    const stream = await server.fetch("/mcp", { headers, signal: leaving.signal });
    expect(stream.status).toBe(200);
    expect(stream.headers.get("content-type")).toContain("text/event-stream");
    expect((await server.fetch("/mcp", { headers })).status).toBe(409);
    const wrong = { ...headers, accept: "application/json" };
    expect((await server.fetch("/mcp", { headers: wrong })).status).toBe(406);
    leaving.abort();
  });
});

const INITIALIZE = message("initialize", {
  ...{ protocolVersion: "2025-11-25", capabilities: {} },
  clientInfo: { name: "a-test", version: "1" },
});

/** Nothing changes here. */
const AUDIENCE: Pick<Audience, "add"> = {
  add: (_front, caller) => ({ caller, end: () => undefined }),
};
/** Every caller is let in for ever. */
const STREAMS: Pick<OpenStreams, "add"> = { add: () => () => undefined };

/** One of a caller's sessions, begun by a message. */
async function begin(sessions: Sessions, key: string): Promise<string> {
  const request = { front: { serverId: "test" }, caller: { key } } as McpRequest;
  const response = await sessions.handle(asHttp(), request, INITIALIZE);
  await response.text();
  return response.headers.get("mcp-session-id") ?? "";
}

async function isOpen(sessions: Sessions, key: string, id: string): Promise<boolean> {
  const request = { front: { serverId: "test" }, caller: { key } } as McpRequest;
  const response = await sessions.handle(asHttp(id), request, message("ping"));
  await response.text();
  return response.status === 200;
}

const IDLE_MS = 1_000;

/** Sessions whose time passes as a test says. */
function idling() {
  let now = 1;
  const limits = { total: 4, perCaller: 2, idleMs: IDLE_MS };
  const sessions = new Sessions(AUDIENCE, STREAMS, limits, { now: () => now });
  const pass = (ms: number): void => {
    now += ms;
  };
  return { sessions, pass };
}

function asHttp(id?: string): Request {
  const accept = "application/json, text/event-stream";
  const headers = { accept, "content-type": "application/json", ...(id && inSession(id)) };
  return new Request("http://localhost/mcp", { method: "POST", headers });
}

describe("Sessions", () => {
  it("ends the oldest of a caller that begins too many, and nobody else's", async () => {
    const sessions = new Sessions(AUDIENCE, STREAMS, { total: 100, perCaller: 2, idleMs: 60_000 });
    const other = await begin(sessions, "other");
    const ids = [];
    for (let count = 0; count < 5; count += 1) ids.push(await begin(sessions, "stranger"));
    const open = await Promise.all(ids.map((id) => isOpen(sessions, "stranger", id)));
    expect(open).toEqual([false, false, false, true, true]);
    expect(await isOpen(sessions, "other", other)).toBe(true);
  });

  it("has so many in all, whoever begins them", async () => {
    const sessions = new Sessions(AUDIENCE, STREAMS, { total: 4, perCaller: 2, idleMs: 60_000 });
    const ids = [];
    for (let count = 0; count < 20; count += 1)
      ids.push(await begin(sessions, `stranger ${count}`));
    const open = await Promise.all(ids.map((id, at) => isOpen(sessions, `stranger ${at}`, id)));
    expect(open.lastIndexOf(false)).toBe(15);
    expect(open.slice(16)).toEqual([true, true, true, true]);
  });

  it("ends one that nobody has used for long", async () => {
    const { sessions, pass } = idling();
    const id = await begin(sessions, "idle");
    pass(IDLE_MS - 1);
    expect(await isOpen(sessions, "idle", id)).toBe(true);
    pass(IDLE_MS - 1);
    expect(await isOpen(sessions, "idle", id)).toBe(true);
    pass(IDLE_MS);
    expect(await isOpen(sessions, "idle", id)).toBe(false);
  });

  it("keeps one whose stream is open, and for as long again as nobody uses it then", async () => {
    const { sessions, pass } = idling();
    const id = await begin(sessions, "listener");
    const listen = async () => {
      const request = { front: { serverId: "test" }, caller: { key: "listener" } } as McpRequest;
      const headers = { accept: "text/event-stream", ...inSession(id) };
      const asked = new Request("http://localhost/mcp", { headers });
      const stream = await sessions.handle(asked, request, undefined);
      expect(stream.status).toBe(200);
      return stream;
    };
    const stream = await listen();
    pass(2 * IDLE_MS);
    expect(await isOpen(sessions, "listener", id)).toBe(true);
    pass(2 * IDLE_MS);
    sessions.endStreams();
    expect(await stream.text()).not.toContain("event: message");
    pass(IDLE_MS - 1);
    const another = await listen();
    pass(2 * IDLE_MS);
    await another.body?.cancel();
    pass(IDLE_MS);
    expect(await isOpen(sessions, "listener", id)).toBe(false);
  });

  it("begins none for a message that begins none", async () => {
    const sessions = new Sessions(AUDIENCE, STREAMS);
    const request = { front: { serverId: "test" }, caller: { key: "a" } } as McpRequest;
    const response = await sessions.handle(asHttp(), request, message("tools/list"));
    expect(response.status).toBe(400);
    expect(response.headers.get("mcp-session-id")).toBeNull();
  });
});
