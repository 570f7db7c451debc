/** Which MCP clients hear that their tools are others, and which do not.   MCP "List Changed Notification" */

import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Client } from "@modelcontextprotocol/client";
import { describe, expect, it, vi } from "vitest";
import { askOnce } from "../../support/daemon.ts";
import { agentFile, endpointFile } from "../../support/deployment.ts";
import { type McpVersion, VERSIONS } from "../../support/mcp.ts";
import { type NegotiatingMcp, openNegotiating } from "../../support/mcp-contracts.ts";
import { current, currentFields } from "../../support/mcp-session.ts";
import { JUDGE, NORA, OTTO } from "../../support/negotiation.ts";
import { PATIENCE } from "../../support/patience.ts";

const { semantic: _unused, ...PROPOSAL } = JUDGE;
const PROPOSE = { name: "agtp_propose", arguments: PROPOSAL };

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** A client that counts what it hears. */
interface Hearing {
  readonly client: Client;
  heard(): number;
  /** Resolves once it has heard so often. */
  hears(times: number): Promise<void>;
  names(): Promise<readonly string[]>;
}

async function listen(
  server: NegotiatingMcp,
  version: McpVersion,
  agentId = NORA,
): Promise<Hearing> {
  let count = 0;
  const waiting = new Map<number, () => void>();
  const onToolsChanged = (): void => {
    count += 1;
    waiting.get(count)?.();
  };
  const user = { asked: [], answer: "accept" as const };
  const client = await server.connectUser(version, user, { agentId, onToolsChanged });
  return {
    client,
    heard: () => count,
    hears: (times) =>
      count >= times ? Promise.resolve() : new Promise((resolve) => waiting.set(times, resolve)),
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
  };
}

/** A request over AGTP as an agent; the status of its answer. */
async function agtp(
  server: NegotiatingMcp,
  method: string,
  body: object,
  agentId = NORA,
): Promise<number> {
  const headers = { "Agent-ID": agentId };
  const reply = await askOnce(server, { method, path: "/", headers, body });
  return reply?.status ?? 0;
}

/** What was sent to the other before is there once this round trip is over. */
async function roundTrip({ client }: Hearing): Promise<void> {
  await client.listTools();
  await client.listTools();
}

describe.each(VERSIONS)("a client of %s that listens", (version) => {
  it("hears of a contract of its own that is made and withdrawn, and others do not", async () => {
    const server = await openNegotiating();
    const nora = await listen(server, version);
    const otto = await listen(server, version, OTTO);
    const { structuredContent } = await nora.client.callTool(PROPOSE);
    await nora.hears(1);
    expect(await nora.names()).toContain("evaluate_verdicts");
    const { synthesis_id: synthesisId } = structuredContent as { synthesis_id: string };
    const revoke = { target: "contract", synthesis_id: synthesisId };
    expect(await agtp(server, "REVOKE", revoke)).toBe(200);
    await nora.hears(2);
    expect(await nora.names()).not.toContain("evaluate_verdicts");
    const call = { name: "evaluate_verdicts", arguments: { subject: "barn" } };
    await expect(nora.client.callTool(call)).rejects.toMatchObject({ code: -32_602 });
    await roundTrip(otto);
    expect([nora.heard(), otto.heard()]).toEqual([2, 0]);
  });

  it("hears that a contract of its own is over", async () => {
    const server = await openNegotiating({ synthesis: { session_ttl_seconds: 3 } });
    const nora = await listen(server, version);
    await nora.client.callTool(PROPOSE);
    await nora.hears(2);
    expect(await nora.names()).not.toContain("evaluate_verdicts");
  });

  it("hears that its agent was suspended and reinstated, and others do not", async () => {
    const identity = { lifecycle_auth: "open" };
    const server = await openNegotiating({ policies: { identity } });
    const nora = await listen(server, version);
    const otto = await listen(server, version, OTTO);
    expect(await nora.names()).toContain("query_facts");
    expect(await agtp(server, "DEACTIVATE", { agent_id: NORA }, OTTO)).toBe(200);
    await nora.hears(1);
    expect(await nora.names()).toEqual([]);
    expect(await agtp(server, "REINSTATE", { agent_id: NORA }, OTTO)).toBe(200);
    await nora.hears(2);
    expect(await nora.names()).toContain("query_facts");
    const revoked = { agent_id: NORA, reason: "it is not needed any more" };
    expect(await agtp(server, "REVOKE", revoked, OTTO)).toBe(200);
    await nora.hears(3);
    expect(await nora.names()).toEqual([]);
    await roundTrip(otto);
    expect([nora.heard(), otto.heard()]).toEqual([3, 0]);
  });

  it("hears of a reload that concerns it, and of no other", async () => {
    const server = await openNegotiating();
    const nora = await listen(server, version);
    const otto = await listen(server, version, OTTO);
    await server.daemon.reload();
    const scopes = ["rcns:negotiate", "facts:read", "orders:write", "added:call"];
    const noras = agentFile({ agent_id: NORA, name: "nora", scopes_accepted: scopes });
    writeFileSync(join(server.directory, "agents/nora.agent.json"), noras);
    const added = { method: "AUDIT", path: "/added", required_scopes: ["added:call"] };
    const handler = { type: "registered_function", function: "handlers.facts" };
    const file = join(server.directory, "endpoints/added.toml");
    writeFileSync(file, endpointFile({ ...added, handler }));
    await server.daemon.reload();
    await nora.hears(1);
    expect(await nora.names()).toContain("audit_added");
    await roundTrip(otto);
    expect([nora.heard(), otto.heard()]).toEqual([1, 0]);
    writeFileSync(file, endpointFile({ ...added, handler, properties: { more: {} } }));
    await server.daemon.reload();
    await nora.hears(2);
    await roundTrip(otto);
    expect(otto.heard()).toBe(0);
  });

  it("hears that a policy takes a method away", async () => {
    const server = await openNegotiating();
    const nora = await listen(server, version);
    const file = join(server.directory, "agtp-server.toml");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, `${text}\n[policies.methods]\ndisallow = ["ANALYZE"]\n`);
    await server.daemon.reload();
    await nora.hears(1);
    expect(await nora.names()).not.toContain("analyze_facts");
  });
});

describe("streams that listen", () => {
  it("are so many for one caller, and no more", async () => {
    const server = await openNegotiating();
    const { length } = Array.from({ length: 64 });
    const filter = { notifications: { toolsListChanged: true } };
    const post = () => server.listen(filter);
    const open = await Promise.all(Array.from({ length }, post));
    expect(new Set(open.map(({ type }) => type))).toEqual(new Set(["text/event-stream"]));
    const refused = await post();
    expect(refused.type).toContain("application/json");
    open[0]?.leave();
    let again = await post();
    while (again.type !== "text/event-stream") again = await post();
    for (const one of [...open, again]) one.leave();
  });

  it("end with their clients however much was collected meanwhile", async () => {
    const server = await openNegotiating();
    const filter = { notifications: { toolsListChanged: true } };
    const { length } = Array.from({ length: 64 });
    const open = await Promise.all(Array.from({ length }, () => server.listen(filter)));
    collectGarbage();
    for (const one of open) one.leave();
    await vi.waitFor(async () => {
      const again = await server.listen(filter);
      again.leave();
      expect(again.type).toBe("text/event-stream");
    }, PATIENCE);
  });

  it("end with the daemon however much was collected meanwhile", async () => {
    const server = await openNegotiating({ limits: { drain_timeout_ms: 600_000 } });
    const stream = await server.listen({ notifications: { toolsListChanged: true } });
    collectGarbage();
    await server.daemon.drain();
    // Until then the client has left its stream open.
    stream.leave();
  });

  it("end also where they were begun while the daemon stops", async () => {
    const server = await openNegotiating({ limits: { drain_timeout_ms: 600_000 } });
    const body = JSON.stringify(
      current("subscriptions/listen", { notifications: { toolsListChanged: true } }),
    );
    const asking = request(server.url, {
      method: "POST",
      headers: {
        ...{ authorization: `Bearer ${await server.tokenOf(NORA)}`, expect: "100-continue" },
        ...{ accept: "application/json, text/event-stream", "content-length": body.length },
        ...{ ...currentFields("subscriptions/listen"), "content-type": "application/json" },
      },
    });
    const answered = once(asking, "response");
    asking.flushHeaders();
    // Its head is there, and it is not answered before the rest is.
    await once(asking, "continue");
    const drained = server.daemon.drain();
    asking.end(body);
    const [response] = (await answered) as [IncomingMessage];
    response.resume();
    await drained;
    expect(response.headers["content-type"]).toBe("text/event-stream");
  });

  it("are none for a filter that is none", async () => {
    const server = await openNegotiating();
    for (let count = 0; count < 100; count += 1) {
      const refused = await server.listen({});
      expect(refused.type).toContain("application/json");
    }
    const stream = await server.listen({ notifications: { toolsListChanged: true } });
    expect(stream.type).toBe("text/event-stream");
    stream.leave();
  });
});
