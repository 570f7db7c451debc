/** Runs of OpenWOP and of an AGNTCY agent over two workers: begun over one, and seen to over the other. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startAcpServer } from "../../support/acp-server.ts";
import {
  type Ask,
  askThrough,
  execute,
  hostedFiles,
  MAIL_SPECS,
  MAYA,
  query,
} from "../../support/agntcy.ts";
import { createDaemon, type TestDaemon } from "../../support/daemon.ts";
import {
  agentFile,
  createDeployment,
  ECHO_MODULE,
  endpointFile,
  type TestDeployment,
} from "../../support/deployment.ts";
import type { TestReply, TestRequest } from "../../support/dispatch.ts";
import { node, workflow } from "../../support/openwop-workflows.ts";
import { PATIENCE } from "../../support/patience.ts";
import { walkChain } from "../../support/records.ts";
import { PRIVATE_KEY, recordsIn } from "../../support/workers.ts";

const KEY = "hk_of_the_desk";
const SCOPES = ["runs:create", "runs:read", "runs:cancel", "approvals:respond"];
const ROUNDS = 6;

const FLOWS = [
  workflow("short", [node("end", "core.noop")]),
  workflow("long", [
    node("wait", "core.delay", { config: { delayMs: 1_000 } }),
    node("end", "core.noop"),
  ]),
  workflow("endless", [node("wait", "core.delay", { config: { delayMs: 60_000 } })]),
];

const begin = (workflowId: string): TestRequest => ({
  ...{ method: "EXECUTE", path: "/runs", body: { workflowId } },
});
const standing = (runId: unknown): TestRequest => ({ method: "QUERY", path: `/runs/${runId}` });
const cancelling = (path: string): TestRequest => ({ method: "CANCEL", path, body: {} });

let acp: Awaited<ReturnType<typeof startAcpServer>>;
let deployment: TestDeployment;
let daemon: TestDaemon;
/** A connection to each worker, and how it is asked. */
let asks: readonly [Ask, Ask];

beforeAll(async () => {
  acp = await startAcpServer({ specs: MAIL_SPECS, script: () => "never", canCancel: true });
  const sha256 = createHash("sha256").update(KEY).digest("hex");
  const files = hostedFiles(acp, {
    tables: {
      server: { workers: 2 },
      signing: { key: "signing.pem" },
      cluster: { view_lease_ms: 3_000 },
      gateway: { enabled: true, port: 0 },
      openwop: { api_keys: [{ sha256, tenant: "default", scopes: SCOPES, agtp_scopes: [] }] },
    },
    files: {
      "signing.pem": PRIVATE_KEY,
      "handlers.mjs": `${ECHO_MODULE}export const pid = () => ({ body: { pid: process.pid } });`,
      "endpoints/pid.toml": endpointFile({
        ...{ method: "QUERY", path: "/pid" },
        handler: { type: "registered_function", function: "handlers.pid" },
      }),
      "agents/maya.agent.json": agentFile({
        ...{ agent_id: MAYA, name: "maya", scopes_accepted: ["mailcomposer:execute", ...SCOPES] },
      }),
      ...Object.fromEntries(
        FLOWS.map((flow) => [`agents/openwop/workflows/${flow.id}.json`, JSON.stringify(flow)]),
      ),
    },
  });
  deployment = createDeployment(files);
  daemon = await createDaemon(deployment);
  asks = await askEach();
});

afterAll(async () => {
  await daemon.close();
  await acp.close();
  deployment.remove();
});

/** A connection may well come to the worker that has one already. */
async function askEach(): Promise<readonly [Ask, Ask]> {
  return vi.waitFor(async () => {
    const byPid = new Map<number, Ask>();
    for (let count = 0; count < 4; count += 1) {
      const ask = askThrough(await daemon.connect());
      byPid.set(await pidOf(ask), ask);
    }
    const [first, second] = byPid.values();
    if (first === undefined || second === undefined) throw new Error("only one answers");
    return [first, second] as const;
  }, PATIENCE);
}

async function pidOf(ask: Ask): Promise<number> {
  return Number((await ask(MAYA, { method: "QUERY", path: "/pid" })).body["pid"]);
}

async function until(ask: Ask, asked: TestRequest, status: string): Promise<TestReply> {
  return vi.waitFor(async () => {
    const reply = await ask(MAYA, asked);
    if (String(reply.body["status"]) !== status) throw new Error(`${reply.status} ${reply.text}`);
    return reply;
  }, PATIENCE);
}

/** The id of a run that is begun; a worker whose view is too old for a moment begins none. */
async function begun(ask: Ask, asked: TestRequest): Promise<unknown> {
  return vi.waitFor(async () => {
    const { status, body, text } = await ask(MAYA, asked);
    if (status !== 202) throw new Error(`${status} ${text}`);
    return body["runId"] ?? body["run_id"];
  }, PATIENCE);
}

async function typesOf(ask: Ask, runId: unknown): Promise<readonly string[]> {
  const { body } = await ask(MAYA, { method: "QUERY", path: `/runs/${runId}/events` });
  return (body["events"] as unknown as readonly { type: string }[]).map(({ type }) => type);
}

/** Kills the worker of a connection; resolves once there are two again, with connections to both. */
async function killWorkerOf(ask: Ask): Promise<void> {
  const replaced = (): number =>
    daemon.log.filter(({ event }) => event === "worker-replaced").length;
  const before = replaced();
  process.kill(await pidOf(ask), "SIGKILL");
  await vi.waitFor(() => expect(replaced()).toBe(before + 1), PATIENCE);
  asks = await askEach();
}

/** Asks the HTTP API with the key. */
function httpCaller() {
  return async (path: string, accept: string): Promise<{ status: number; text: string }> => {
    const headers = { authorization: `Bearer ${KEY}`, accept };
    const { gatewayPort } = daemon.daemon;
    const response = await fetch(`http://127.0.0.1:${gatewayPort}${path}`, { headers });
    return { status: response.status, text: await response.text() };
  };
}

describe("OpenWOP runs over two workers", () => {
  it("are found, heard of and cancelled over the other as soon as they are begun", async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [here, there] = round % 2 === 0 ? asks : asks.toReversed();
      if (here === undefined || there === undefined) throw new Error("no clients");
      const runId = await begun(here, begin("endless"));
      const found = await there(MAYA, standing(runId));
      expect([found.status, found.body["runId"]]).toEqual([200, runId]);
      const path = `/runs/${runId}/events`;
      const heard = there(MAYA, { method: "QUERY", path, body: { timeout: 20 } });
      expect((await heard).text).toContain("run.started");
      expect((await there(MAYA, cancelling(`/runs/${runId}`))).status).toBe(200);
      await until(here, standing(runId), "cancelled");
      expect((await typesOf(there, runId)).filter((type) => type === "run.cancelled")).toHaveLength(
        1,
      );
    }
    const chain = walkChain(recordsIn(daemon), MAYA);
    expect(chain.length).toBeGreaterThan(ROUNDS);
  });

  it("are streamed over HTTP, by the one worker that serves it, whichever began them", async () => {
    const get = httpCaller();
    for (let round = 0; round < ROUNDS; round += 1) {
      const runId = await begun(round % 2 === 0 ? asks[0] : asks[1], begin("short"));
      const path = `/v1/runs/${runId}/events?streamMode=debug`;
      const stream = await get(path, "text/event-stream");
      expect(stream.status, stream.text).toBe(200);
      expect(stream.text.match(/^event: run\.completed$/gm)).toHaveLength(1);
      const read = await get(`/v1/runs/${runId}`, "application/json");
      expect([read.status, JSON.parse(read.text).status]).toEqual([200, "completed"]);
    }
  });

  it("end once when the worker that is at them is killed", async () => {
    const [here] = asks;
    const runId = await begun(here, begin("long"));
    await until(here, standing(runId), "running");
    await killWorkerOf(here);
    for (const ask of asks) await until(ask, standing(runId), "completed");
    const ends = (await typesOf(asks[0], runId)).filter((type) =>
      /^run\.(comp|fail|canc)/.test(type),
    );
    expect(ends).toEqual(["run.completed"]);
  });
});

describe("runs of an AGNTCY agent over two workers", () => {
  it("are found and cancelled over the other as soon as they are begun", async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [here, there] = round % 2 === 0 ? asks : asks.toReversed();
      if (here === undefined || there === undefined) throw new Error("no clients");
      const runId = await begun(here, execute({ wait_seconds: 0 }));
      expect((await there(MAYA, query(runId))).body["status"]).toBe("pending");
      const cancelled = await there(MAYA, cancelling(`/mailcomposer/runs/${runId}`));
      expect(cancelled.status, cancelled.text).toBe(200);
      await until(here, query(runId), "cancelled");
    }
  });

  it("end once when the worker that follows them is killed", async () => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    acp.script = () => released.then(() => ({ success: { message: "after all" } }));
    const [here] = asks;
    const before = acp.runs.size;
    const runId = await begun(here, execute({ wait_seconds: 0 }));
    await vi.waitFor(() => expect(acp.runs.size).toBe(before + 1), PATIENCE);
    await killWorkerOf(here);
    release();
    for (const ask of asks) {
      const ended = await until(ask, query(runId), "success");
      expect(ended.body["output"]).toEqual({ message: "after all" });
    }
    expect(acp.runs.size).toBe(before + 1);
  });
});
