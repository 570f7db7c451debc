/** What is beside the calls of agents, over two workers: MCP, the console, tasks, and power loss. */
import { expect, it } from "vitest";
import { manifestOf, shellTask } from "../../support/agentcli.ts";
import { ALMA, approvingFiles, booking, ranIn, under } from "../../support/approving.ts";
import { CONSOLE, consoleOf } from "../../support/console.ts";
import { openDaemon, type RawClient, type TestDaemon } from "../../support/daemon.ts";
import { encodeRequest, type TestReply, type TestRequest } from "../../support/dispatch.ts";
import { connectMcp } from "../../support/mcp.ts";
import { PATIENT_CLUSTER } from "../../support/patience.ts";
import { isSigned, walkChain } from "../../support/records.ts";
import {
  connectToEach,
  control,
  PRIVATE_KEY,
  PUBLIC_KEY,
  recordsIn,
} from "../../support/workers.ts";

const TASK: TestRequest = { method: "EXECUTE", path: "/workflows/wf:w1/task:t1", body: {} };

async function openWorkers(): Promise<TestDaemon> {
  const files = await approvingFiles([], {
    ...CONSOLE,
    ...{ server: { workers: 2 }, cluster: PATIENT_CLUSTER, signing: { key: "signing.pem" } },
    attribution: { durability: "power" },
    gateway: { enabled: true, port: 0, agent: "alma" },
    mcp: { enabled: true, anonymous: true },
    agentcli: { manifests: ["m.json"], expose: ["w1"] },
  });
  const task = shellTask(process.execPath, ["-e", "console.log('done')"], { id: "t1" });
  const manifest = JSON.stringify(manifestOf([task]));
  return openDaemon({ ...files, "signing.pem": PRIVATE_KEY, "m.json": manifest });
}

/** Asks as Alma on a connection that is open. */
async function ask(client: RawClient, request: TestRequest): Promise<TestReply> {
  const count = (await client.replies(0)).length;
  client.write(encodeRequest({ ...request, headers: { "Agent-ID": ALMA, ...request.headers } }));
  const reply = (await client.replies(count + 1))[count];
  if (reply === undefined) throw new Error("the connection was closed");
  return reply;
}

it("serve MCP, the console and tasks as one process does, in one chain", async () => {
  const daemon = await openWorkers();
  const clients = await connectToEach(daemon, 2);
  // An approval that one worker asks for is decided at another's console, and used at both.
  const visitor = await consoleOf(daemon).signIn();
  for (const [index, client] of clients.entries()) {
    const request = booking(String(index));
    const waiting = await ask(client, request);
    expect(waiting.status).toBe(262);
    const id = String(waiting.body["escalation_id"]);
    const decided = await visitor.post(`/api/approvals/${id}`, { decision: "accepted" });
    expect([decided.status, decided.text]).toEqual([200, expect.anything()]);
    expect((await ask(client, under(id, request))).status).toBe(200);
  }
  expect(ranIn(daemon)).toHaveLength(2);
  const mcp = await connectMcp(
    new URL(`http://127.0.0.1:${daemon.daemon.gatewayPort}/mcp`),
    "2026-07-28",
  );
  const { tools } = await mcp.listTools();
  const tool = tools.find(({ name }) => name.includes("free"))?.name ?? "";
  const called = await mcp.callTool({ name: tool, arguments: { room: "9" } });
  expect(called.isError ?? false).toBe(false);
  expect(ranIn(daemon)).toContain("look");
  for (const client of clients) expect((await ask(client, TASK)).status).toBe(200);
  const chain = walkChain(recordsIn(daemon), ALMA);
  // Whichever worker has moved it.
  const head = { agent_id: ALMA, audit_id: chain.at(-1)?.auditId };
  expect((await visitor.get("/api/records")).body.chains).toContainEqual(
    expect.objectContaining(head),
  );
  for (const { jws } of chain) expect(isSigned(jws, PUBLIC_KEY)).toBe(true);
  expect((await control(daemon, "nodes"))["nodes"]).toHaveLength(2);
});
