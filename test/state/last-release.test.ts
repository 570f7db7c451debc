/**
 * A state file that the last release wrote: its runs of every kind, what was delegated and asked, its
 * notifications and keys. The fixture has its entries, and the answers that it gave of them.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SeenTokens } from "../../src/modules/delegation/token.ts";
import { NotificationRegister } from "../../src/modules/delivery/notification-register.ts";
import { WebhookOutbox } from "../../src/modules/delivery/webhook-outbox.ts";
import { IdempotencyRegister } from "../../src/state/registers/idempotency-register.ts";
import { openState, type ServerState } from "../../src/state/state.ts";
import type { Store } from "../../src/state/store.ts";
import { manifestOf, shellTask } from "../support/agentcli.ts";
import { hostedFiles, LEO, MAYA, openAcp, query } from "../support/agntcy.ts";
import { ALICE, BOB, delegationFiles } from "../support/delegation.ts";
import { READER, SENDER } from "../support/delivery.ts";
import { agentFile, configFile } from "../support/deployment.ts";
import {
  openServer,
  type TestReply,
  type TestRequest,
  type TestServer,
} from "../support/dispatch.ts";
import { buildStateFile, readFixture, type StateFixture } from "../support/earlier-state.ts";
import { openRuns } from "../support/openwop-runs.ts";
import { PATIENCE } from "../support/patience.ts";
import { openTestStore } from "../support/store.ts";

interface Fixture extends StateFixture {
  readonly expected: {
    readonly openwop: {
      /** By path, of runs that were over. */
      readonly answers: Readonly<Record<string, string>>;
      readonly waiting: string;
      readonly interruptId: string;
      readonly token: string;
      /** Taken on, and not begun. */
      readonly begun: string;
      /** Under the Idempotency-Key "order-1". */
      readonly keyed: string;
    };
    readonly agntcy: Readonly<Record<"done" | "interrupted" | "thread", Record<string, unknown>>>;
    /** The ids of escalations. */
    readonly agentcli: { readonly asked: string; readonly accepted: string };
    readonly delegation: { readonly delegationId: string };
    readonly delivery: { readonly serial: string };
  };
}

const FIXTURE: Fixture = readFixture("state-of-schema-2.json");
const { expected } = FIXTURE;

const openStore = (): Promise<Store> => openTestStore("sqlite", buildStateFile(FIXTURE, 2));

async function openEarlierState(): Promise<ServerState> {
  const onFault = (error: unknown): never => {
    throw error;
  };
  return openState({ store: await openStore(), journalDirectory: undefined, onFault });
}

function askAs(server: TestServer, agentId: string, request: TestRequest): Promise<TestReply> {
  return server.send({ ...request, headers: { "Agent-ID": agentId } });
}

describe("the state of the last release", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: FIXTURE.madeAt + 60_000 });
  });
  afterEach(() => void vi.useRealTimers());

  it("has its OpenWOP runs that are over, bit for bit, and what was asked under a key", async () => {
    const server = await openRuns({ store: await openStore() });
    const { answers, keyed } = expected.openwop;
    for (const [path, text] of Object.entries(answers)) {
      // It called the form of its logs by a number that stands for no log at all.
      const told = text.replace('"eventLogSchemaVersion":1}', '"eventLogSchemaVersion":2}');
      expect((await server.get(path)).text).toBe(told);
    }
    const headers = { "Idempotency-Key": "order-1" };
    const again = await server.post("/v1/runs", { workflowId: "conformance-noop" }, { headers });
    expect([again.status, again.body.runId]).toEqual([201, keyed]);
  });

  it("has its OpenWOP runs that are not over: one is begun, one takes its answer", async () => {
    const { waiting, interruptId, token, begun } = expected.openwop;
    const server = await openRuns({ store: await openStore() });
    await server.until(begun, "completed");
    const { body } = await server.get(`/v1/runs/${waiting}`);
    expect(body).toMatchObject({ status: "waiting-approval", interrupt: { interruptId } });
    const answer = await server.post(`/v1/interrupts/${token}`, { resumeValue: true });
    expect(answer.status).toBe(200);
    await server.until(waiting, "completed");
  });

  it("has its AGNTCY runs and threads", async () => {
    const state = await openEarlierState();
    const acp = await openAcp();
    const server = await openServer(hostedFiles(acp), { state, isClean: false });
    // Another than the one that executed them, which is not to say so.
    acp.fault = (_, response) => {
      response.writeHead(503).end();
      return true;
    };
    const { done, interrupted, thread } = expected.agntcy;
    for (const run of [done, interrupted]) {
      expect((await askAs(server, MAYA, query(run["run_id"]))).body).toEqual(run);
    }
    const { body } = await askAs(server, MAYA, query(done["run_id"], "/events"));
    expect(body["events"]).toMatchObject([{ status: "pending" }, { status: "success" }]);
    const path = `/mailcomposer/threads/${thread["thread_id"]}`;
    // It is known whose it is, and so the upstream was asked.
    const found = await askAs(server, MAYA, { method: "QUERY", path });
    expect(found.body["error"]?.["code"]).toBe("upstream_error");
    expect((await askAs(server, LEO, { method: "QUERY", path })).status).toBe(404);
  });

  it("has what people were asked of agentcli tasks, and what they said", async () => {
    const gated = shellTask("sh", ["-c", "echo x >> log"], { approval: { policy: "manual" } });
    const files = {
      "agtp-server.toml": configFile({
        agentcli: { manifests: ["agents/agentcli/m.json"], expose: ["w1"] },
      }),
      "agents/agentcli/m.json": JSON.stringify(manifestOf([gated], {})),
      "endpoints/.keep": "",
      "agents/alice.agent.json": agentFile({ agent_id: ALICE, name: "alice", trust_tier: 2 }),
      "agents/bob.agent.json": agentFile({ agent_id: BOB, name: "bob", trust_tier: 3 }),
    };
    const env = { PATH: process.env["PATH"] ?? "" };
    const state = await openEarlierState();
    const server = await openServer(files, { env, state, isClean: false });
    const run = (agentId: string): Promise<TestReply> => {
      const request = { method: "EXECUTE", path: "/workflows/wf:w1/task:t1", body: {} };
      return askAs(server, agentId, request);
    };
    const { asked, accepted } = expected.agentcli;
    const waiting = await run(ALICE);
    expect([waiting.status, waiting.body["escalation_id"]]).toEqual([202, asked]);
    expect((await run(BOB)).status).toBe(200);
    const again = await run(BOB);
    expect(again.status).toBe(202);
    expect(again.body["escalation_id"]).not.toBe(accepted);
  });

  it("has what was delegated, of which nobody saw the end", async () => {
    const state = await openEarlierState();
    const server = await openServer(delegationFiles(), { state });
    const request = { method: "QUERY", path: "/outcomes" };
    const told = await vi.waitUntil(async () => {
      const { body } = await askAs(server, ALICE, request);
      return Object.values(body["outcomes"] ?? {})[0];
    }, PATIENCE);
    const { delegationId } = expected.delegation;
    expect(told).toMatchObject({ delegation_id: delegationId, task_id: "t-7", outcome: "unknown" });
    const seen = await SeenTokens.open(state.store, Date.now);
    const until = FIXTURE.madeAt + 7_200_000;
    expect(await seen.take("home.example", "token-1", until)).toBe("seen");
  });

  it("has its notifications, what was said of them, and its outbox", async () => {
    const store = await openStore();
    const outbox = await WebhookOutbox.open({ store });
    const register = await NotificationRegister.open({ store, outbox });
    const inbox = register.inboxOf(READER);
    expect(
      inbox.map(({ notification: { id }, confirmation }) => [id, confirmation?.status]),
    ).toEqual([
      ["n-2", undefined],
      ["n-1", "rejected"],
    ]);
    const { serial } = expected.delivery;
    expect(register.find(SENDER, "n-1")?.serial).toBe(serial);
    expect(await register.contentOf(serial)).toEqual({ text: "the boat leaves at nine" });
    expect([...outbox.queued()].map(({ id }) => id)).toEqual([`${serial}:desk`, "news-1"]);
    expect(await outbox.bodyOf("news-1")).toEqual({ n: 1 });
    expect(outbox.find("news-2")).toMatchObject({ state: "delivered", attempts: 1 });
    // Nobody knows whether it arrived, and it was to be sent once.
    expect(outbox.find("once-1")).toMatchObject({ state: "failed", attempts: 1 });
    expect(await outbox.bodyOf("once-1")).toBeUndefined();
  });

  it("has its Idempotency-Keys, with answers and without", async () => {
    const register = await IdempotencyRegister.open(await openStore(), {});
    const claim = (key: string) => register.claim({ agentId: ALICE, key, fingerprint: "f" });
    const answered = claim("answered");
    expect(answered).toMatchObject({ kind: "answered", status: 200 });
    const response = answered.kind === "answered" ? await answered.response : undefined;
    expect(response).toEqual({ status: 200, contentType: "text/plain", text: "done" });
    expect(claim("begun").kind).toBe("unknown");
  });
});
