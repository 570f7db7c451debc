/** Work that one of two daemons over one PostgreSQL began, and the other is asked about, or ends. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { manifestOf, shellTask } from "../support/agentcli.ts";
import { execute, hostedFiles, MAYA, openAcp, query } from "../support/agntcy.ts";
import { ALICE, BOB, delegationFiles } from "../support/delegation.ts";
import { agentFile, configFile } from "../support/deployment.ts";
import { makeDirectory } from "../support/directory.ts";
import type { TestReply, TestRequest } from "../support/dispatch.ts";
import { JUDGE, NORA, negotiationFiles, propose } from "../support/negotiation.ts";
import { type NodeFiles, startNodes, type TestNode } from "../support/nodes.ts";
import { node, workflow } from "../support/openwop-workflows.ts";
import { PATIENCE } from "../support/patience.ts";
import { describeWithPostgres, postgres } from "../support/postgres.ts";

/** A node is found gone after its lease, and its work is looked for then. */
const TEST_MS = 120_000;

const FLOWS = [
  workflow("slow", [
    node("wait", "core.delay", { config: { delayMs: 6_000 } }),
    node("end", "core.noop"),
  ]),
  workflow("quick", [node("end", "core.noop")]),
  workflow("gated", [
    node("gate", "core.approvalGate", { config: { title: "Go?", actions: ["accept", "reject"] } }),
    node("wait", "core.delay", { config: { delayMs: 3_000 } }),
  ]),
];

const RUN_SCOPES = ["runs:create", "runs:read", "runs:cancel", "runs:answer", "approvals:respond"];

const flowFiles: NodeFiles = (tables) => ({
  "agtp-server.toml": configFile(tables),
  "agents/alice.agent.json": agentFile({
    ...{ agent_id: ALICE, name: "alice", scopes_accepted: RUN_SCOPES },
  }),
  "agents/bob.agent.json": agentFile({
    ...{ agent_id: BOB, name: "bob", scopes_accepted: [...RUN_SCOPES, "inspect:all"] },
  }),
  ...Object.fromEntries(
    FLOWS.map((flow) => [`agents/openwop/workflows/${flow.id}.json`, JSON.stringify(flow)]),
  ),
});

const begin = (workflowId: string): TestRequest => ({
  ...{ method: "EXECUTE", path: "/runs", body: { workflowId } },
});
const standing = (runId: unknown): TestRequest => ({ method: "QUERY", path: `/runs/${runId}` });

async function until(
  { ask }: TestNode,
  agentId: string,
  request: TestRequest,
  isMeant: (reply: TestReply) => boolean,
): Promise<TestReply> {
  return vi.waitFor(async () => {
    const reply = await ask(agentId, request);
    if (!isMeant(reply)) throw new Error(`${reply.status} ${reply.text}`);
    return reply;
  }, PATIENCE);
}

const isNow = (status: string) => (reply: TestReply) => String(reply.body["status"]) === status;

async function typesOf({ ask }: TestNode, runId: unknown): Promise<readonly string[]> {
  const { body } = await ask(ALICE, { method: "QUERY", path: `/runs/${runId}/events` });
  return (body["events"] as unknown as readonly { type: string }[]).map(({ type }) => type);
}

/** Takes messages over HTTP; `hold` keeps the sender waiting. */
async function startHook() {
  const ids: string[] = [];
  let isHeld = false;
  const server = createServer((request, response) => {
    ids.push(String(request.headers["agtp-delivery-id"]));
    request.resume();
    if (!isHeld) response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    ids,
    hold: (hold: boolean) => {
      isHeld = hold;
    },
  };
}

describeWithPostgres("two nodes of one store", () => {
  describe("two nodes with OpenWOP workflows", () => {
    it(
      "answer for each other's runs, and one ends what the other began",
      async () => {
        const nodes = await startNodes(await postgres().makeDatabase(), flowFiles);
        const [a, b] = nodes;
        const slow = (await a.ask(ALICE, begin("slow"))).body["runId"];
        const cancelled = (await a.ask(ALICE, begin("slow"))).body["runId"];
        const gated = (await a.ask(ALICE, begin("gated"))).body["runId"];
        await until(b, ALICE, standing(slow), isNow("running"));
        await until(b, ALICE, standing(gated), isNow("waiting-approval"));

        const cancel = { method: "CANCEL", path: `/runs/${cancelled}`, body: {} };
        expect((await b.ask(ALICE, cancel)).status).toBe(200);
        await until(a, ALICE, standing(cancelled), isNow("cancelled"));
        const gate = { method: "CONFIRM", path: `/runs/${gated}/interrupts/gate` };
        const answered = await b.ask(BOB, { ...gate, body: { status: "accepted" } });
        expect(answered.text).toContain("running");

        // A listener on the other node hears of what comes.
        const path = `/runs/${slow}/events`;
        const last = { lastSequence: 1, timeout: 20 };
        const heard = b.ask(ALICE, { method: "QUERY", path, body: last });
        await a.kill();
        expect((await heard).status).toBe(200);
        const [, other] = nodes;
        for (const runId of [slow, gated])
          await until(other, ALICE, standing(runId), isNow("completed"));
        const types = await typesOf(b, slow);
        expect(types.filter((type) => type === "run.completed")).toHaveLength(1);
        expect((await typesOf(b, cancelled)).at(-1)).toBe("run.cancelled");
      },
      TEST_MS,
    );

    it(
      "end a run once, though the one that began it is stopped and goes on later",
      async () => {
        const [a, b] = await startNodes(await postgres().makeDatabase(), flowFiles);
        const slow = (await a.ask(ALICE, begin("slow"))).body["runId"];
        await until(b, ALICE, standing(slow), isNow("running"));
        a.stop();
        await until(b, ALICE, standing(slow), isNow("completed"));
        a.goOn();
        await until(a, ALICE, standing(slow), isNow("completed"));
        const types = await typesOf(a, slow);
        expect(types.filter((type) => /^run\.(completed|failed|cancelled)$/.test(type))).toEqual([
          "run.completed",
        ]);
        const again = await until(a, ALICE, begin("quick"), ({ status }) => status === 202);
        await until(b, ALICE, standing(again.body["runId"]), isNow("completed"));
      },
      TEST_MS,
    );
  });

  describe("two nodes in front of an AGNTCY agent", () => {
    it(
      "follow a run that the other began, once that is gone",
      async () => {
        let release: () => void = () => undefined;
        const released = new Promise<void>((resolve) => {
          release = resolve;
        });
        const server = await openAcp({
          script: () => released.then(() => ({ success: { message: "after all" } })),
        });
        const files: NodeFiles = (tables) => hostedFiles(server, { tables });
        const [a, b] = await startNodes(await postgres().makeDatabase(), files);
        const runId = (await a.ask(MAYA, execute({ wait_seconds: 0 }))).body["run_id"];
        await until(b, MAYA, query(runId), isNow("pending"));
        await a.kill();
        release();
        const ended = await until(b, MAYA, query(runId), isNow("success"));
        expect(ended.body["output"]).toEqual({ message: "after all" });
        expect(server.runs.size).toBe(1);
      },
      TEST_MS,
    );
  });

  describe("two nodes that delegate", () => {
    it(
      "deliver what became of a task whose node is gone, and do it no second time",
      async () => {
        const [a, b] = await startNodes(await postgres().makeDatabase(), delegationFiles);
        const body = {
          ...{ target_agent_id: BOB, authority_scope: [], callback: "inbox" },
          task: { method: "EXECUTE", path: "/waits" },
        };
        const begun = await a.ask(ALICE, { method: "DELEGATE", body });
        expect([begun.status, begun.text]).toEqual([202, begun.text]);
        const { poll } = begun.body["result"] as unknown as { readonly poll: TestRequest };
        const state = (reply: TestReply) => String(reply.body["result"]?.["state"]);
        await until(b, ALICE, poll, (reply) => state(reply) === "running");
        await a.kill();
        const isTold = (reply: TestReply) =>
          String(reply.body["result"]?.["delivery"]) === "delivered";
        const told = await until(b, ALICE, poll, isTold);
        expect(told.body["result"]).toMatchObject({ state: "failed", reason: "interrupted" });
        const inbox = await b.ask(ALICE, { method: "QUERY", path: "/inbox" });
        expect(inbox.body["result"]?.["entries"]).toHaveLength(1);
      },
      TEST_MS,
    );
  });

  describe("two nodes with webhooks", () => {
    it(
      "send each message, and that of a node that is gone too",
      async () => {
        const hook = await startHook();
        const webhooks = { recipients: { desk: hook.url } };
        const files: NodeFiles = (tables) => delegationFiles({ ...tables, webhooks });
        const [a, b] = await startNodes(await postgres().makeDatabase(), files);
        const notify = (id: string): TestRequest => ({
          ...{ method: "NOTIFY" },
          body: {
            ...{ recipient: "webhook:desk", content: "the boat leaves", notification_id: id },
            delivery_guarantee: "at_least_once",
          },
        });
        for (const [at, one] of [a, b, a, b].entries()) {
          expect((await one.ask(ALICE, notify(`n-${at}`))).status).toBe(200);
        }
        await vi.waitFor(() => expect(hook.ids).toHaveLength(4), PATIENCE);
        hook.hold(true);
        expect((await a.ask(ALICE, notify("n-held"))).status).toBe(200);
        await vi.waitFor(() => expect(hook.ids).toHaveLength(5), PATIENCE);
        // While its sender is healthy nobody else sends it.
        await delay(3_000);
        expect(new Set(hook.ids).size).toBe(hook.ids.length);
        await a.kill();
        hook.hold(false);
        await vi.waitFor(() => expect(hook.ids).toHaveLength(6), PATIENCE);
        expect(hook.ids[5]).toBe(hook.ids[4]);
      },
      TEST_MS,
    );
  });

  describe("two nodes that evaluate proposals later", () => {
    it(
      "answer those that a node which is gone took on",
      async () => {
        const synthesis = { async_evaluation: true };
        const files: NodeFiles = (tables) => negotiationFiles({ ...tables, synthesis });
        const [a, b] = await startNodes(await postgres().makeDatabase(), files);
        const replies: TestReply[] = [];
        for (let count = 0; count < 10; count += 1) replies.push(await a.ask(NORA, propose(JUDGE)));
        expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(261));
        await a.kill();
        for (const { body } of replies) {
          const poll = { method: "QUERY", path: `/proposals/${String(body["proposal_id"])}` };
          await until(b, NORA, poll, ({ status }) => status === 263);
        }
      },
      TEST_MS,
    );
  });

  describe("two nodes with tasks of agentcli", () => {
    it(
      "run one of a task that skips at a time, and the next when its node is gone",
      async () => {
        const directory = makeDirectory();
        const script = `echo $$ >> ${directory}/ran; while [ ! -e ${directory}/go ]; do sleep 0.1; done`;
        const task = shellTask("sh", ["-c", script], {
          reliability: { overlap_policy: "skip" },
        });
        const files: NodeFiles = (tables) => ({
          "agtp-server.toml": configFile({
            ...tables,
            agentcli: { manifests: ["agents/agentcli/m.json"], expose: ["w1"] },
          }),
          "agents/agentcli/m.json": JSON.stringify(manifestOf([task])),
          "agents/alice.agent.json": agentFile({ agent_id: ALICE, name: "alice", trust_tier: 2 }),
        });
        const [a, b] = await startNodes(await postgres().makeDatabase(), files);
        const run: TestRequest = { method: "EXECUTE", path: "/workflows/wf:w1/task:t1", body: {} };
        const first = a.ask(ALICE, run).catch(() => undefined);
        const ran = join(directory, "ran");
        await vi.waitFor(() => expect(existsSync(ran)).toBe(true), PATIENCE);
        const skipped = await b.ask(ALICE, run);
        expect(skipped.text).toContain("running already");
        await a.kill();
        await first;
        for (const pid of readFileSync(ran, "utf8").trim().split("\n")) process.kill(Number(pid));
        writeFileSync(join(directory, "go"), "");
        await vi.waitFor(async () => {
          expect((await b.ask(ALICE, run)).status).toBe(200);
        }, PATIENCE);
        expect(readFileSync(ran, "utf8").trim().split("\n")).toHaveLength(2);
      },
      TEST_MS,
    );
  });
});
