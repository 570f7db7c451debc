/** `agtp-mcp URI` before a server that negotiates: the contracts of its agent are tools of its client. */
import { describe, expect, it } from "vitest";
import { openDaemon, type TestDaemon } from "../support/daemon.ts";
import { openDesktop } from "../support/desktop.ts";
import { encodeRequest, type TestReply, type TestRequest } from "../support/dispatch.ts";
import { VERSIONS } from "../support/mcp.ts";
import { JUDGE, NORA, negotiationFiles } from "../support/negotiation.ts";

async function ask(server: TestDaemon, request: TestRequest): Promise<TestReply> {
  const client = await server.connect();
  client.write(encodeRequest({ ...request, headers: { "Agent-ID": NORA, ...request.headers } }));
  const [reply] = await client.replies(1);
  client.destroy();
  if (reply === undefined) throw new Error("the connection was closed");
  return reply;
}

/** A contract for a pair that a recipe answers; its id. */
async function agree(server: TestDaemon): Promise<string> {
  const request = { method: "AUDIT", path: "/reviews", body: { subject: "barn" } };
  const offered = await ask(server, { ...request, headers: { "Allow-RCNS": "true" } });
  expect(offered.status, offered.text).toBe(461);
  const id = String(offered.body["synthesis_id"]);
  const done = await ask(server, { ...request, headers: { "Contract-Synthesized": id } });
  expect(done.status, done.text).toBe(200);
  return id;
}

describe.each(VERSIONS)("a contract of the agent of a desktop client of %s", (version) => {
  it("is a tool as long as it holds", async () => {
    const server = await openDaemon(negotiationFiles());
    const id = await agree(server);
    const args = [`agtp://localhost:${server.daemon.port}`, "--insecure", "--agent-id", NORA];
    const { client } = await openDesktop(version, args);
    const { tools } = await client.listTools();
    const tool = tools.find(({ name }) => name === "audit_reviews");
    expect(tool).toMatchObject({
      title: "AUDIT /reviews",
      inputSchema: { type: "object", properties: { subject: {} } },
    });
    const call = { name: "audit_reviews", arguments: { subject: "barn" } };
    const done = await client.callTool(call);
    expect(done.isError, JSON.stringify(done.content)).toBeUndefined();
    expect(done.structuredContent).toMatchObject({ verdict: "2 facts" });
    const body = { synthesis_id: id };
    expect((await ask(server, { method: "SUSPEND", body })).status).toBe(200);
    expect((await client.callTool(call)).isError).toBe(true);
  });

  it("is made by a proposal, and is a tool with the answer", async () => {
    const server = await openDaemon(negotiationFiles());
    const args = [`agtp://localhost:${server.daemon.port}`, "--insecure", "--agent-id", NORA];
    const { client } = await openDesktop(version, args);
    const before = (await client.listTools()).tools.map(({ name }) => name);
    expect(before).toContain("agtp_propose");
    expect(before).not.toContain("evaluate_verdicts");
    const { semantic: _unused, ...proposal } = JUDGE;
    const made = await client.callTool({ name: "agtp_propose", arguments: proposal });
    expect(made.isError, JSON.stringify(made.content)).toBeUndefined();
    expect(made.structuredContent).toMatchObject({ method: "EVALUATE", path: "/verdicts" });
    expect(JSON.stringify(made.content)).toContain("evaluate_verdicts");
    const judged = { name: "evaluate_verdicts", arguments: { subject: "barn" } };
    expect((await client.callTool(judged)).structuredContent).toMatchObject({ verdict: "2 facts" });
    const refused = await client.callTool({
      ...{ name: "agtp_propose", arguments: { ...proposal, method: "FROBNICATE" } },
    });
    expect(refused.isError).toBe(true);
    expect(JSON.stringify(refused.content)).toContain("method-not-in-catalog");
  });

  it("is none of another agent's", async () => {
    const server = await openDaemon(negotiationFiles());
    await agree(server);
    const args = [`agtp://localhost:${server.daemon.port}`, "--insecure"];
    const { client } = await openDesktop(version, args);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain("audit_reviews");
  });
});
