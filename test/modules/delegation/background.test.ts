import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Acting } from "../../../src/dispatch/handling/acting.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";
import { Background, type BackgroundOptions } from "../../../src/modules/delegation/background.ts";
import type { Outcome } from "../../../src/modules/delegation/outcome.ts";
import { RecentRuns } from "../../../src/modules/delegation/recent-runs.ts";
import {
  type DelegationRegister,
  type KeptDelegation,
  openDelegationRegister,
} from "../../../src/modules/delegation/register.ts";
import type { Callback } from "../../../src/modules/delegation/request.ts";
import { type Holders, SOLE_HOLDER } from "../../../src/state/holders.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import type { Store } from "../../../src/state/store.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { ALICE, BOB, CAROL, delegate, delegationFiles } from "../../support/delegation.ts";
import { endpointFile } from "../../support/deployment.ts";
import { makeDirectory } from "../../support/directory.ts";
import { openServer, type TestServer } from "../../support/dispatch.ts";
import { PATIENCE } from "../../support/patience.ts";
import { makeLastingStore, openTestState } from "../../support/state.ts";
import { alterStore } from "../../support/store.ts";

const PRIOR = { agent_id: BOB, audit_id: "0".repeat(64) };
const DONE: Outcome = { kind: "completed", status: 200, result: { n: 1 }, priorActions: [PRIOR] };

function kept(callback: Callback = { kind: "inbox" }): KeptDelegation {
  return {
    ...{ id: "d-1", agentId: ALICE, scopes: ["booking:room"], target: BOB },
    ...{ action: "BOOK /rooms", taskId: "t-1", callback },
  };
}

function agentOf(agentId: string, scopes: readonly string[] = ["booking:*"]): AgentDocument {
  return { agentId, scopes, trustTier: 2 } as unknown as AgentDocument;
}

interface Rig extends Pick<BackgroundOptions, "tasks" | "outcomes"> {
  readonly background: Background;
  readonly register: DelegationRegister;
  readonly runs: RecentRuns;
  readonly acted: readonly Acting[];
  readonly warned: readonly object[];
}

const NONE_REVOKED = { isRevoked: () => false };

/** Deliveries are answered with these statuses, the last one for good. */
async function rig(
  statuses: readonly number[] = [200],
  {
    store = createMemoryStore(),
    findAgent,
    holders,
    certificates = NONE_REVOKED,
  }: Partial<BackgroundOptions> & { store?: Store; holders?: Holders } = {},
): Promise<Rig> {
  const acted: Acting[] = [];
  const warned: object[] = [];
  const register = await openDelegationRegister(store, holders ?? SOLE_HOLDER);
  const runs = await RecentRuns.open();
  const memory = { tasks: new Map(), outcomes: new Map() };
  const background = new Background({
    ...{ register, runs, ...memory },
    log: { info: () => undefined, warn: (fields) => void warned.push(fields) },
    actAs: async (acting) => {
      acted.push(acting);
      const status = statuses[acted.length - 1] ?? statuses.at(-1) ?? 200;
      return { status, body: {}, auditId: undefined, responseId: "", refusedBy: undefined };
    },
    findAgent: findAgent ?? ((agentId) => agentOf(agentId)),
    certificates,
  });
  return { background, register, runs, ...memory, acted, warned };
}

async function run({ background, register }: Rig, one: KeptDelegation, outcome = DONE) {
  background.start();
  await register.add({ run: one });
  background.run(one, () => Promise.resolve(outcome));
}

// AGTP "DELEGATE"
describe("Background", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("delivers once what was left for later and taken up by the next deployment", async () => {
    const store = makeLastingStore();
    const one = await rig([200], { store });
    const { register, background, runs, tasks, outcomes } = one;
    background.start();
    await register.add({ run: kept({ kind: "endpoint", method: "NOTE", path: "/outcomes" }) });
    store.fault = new StoreUnavailableError("unreachable", new Error("cut"));
    background.run(kept(), () => Promise.resolve(DONE));
    await vi.advanceTimersByTimeAsync(0);
    store.fault = undefined;
    await background.close();
    const acted: Acting[] = [];
    const next = new Background({
      ...{ register, runs, tasks, outcomes },
      log: { info: () => undefined, warn: () => undefined },
      actAs: async (acting) => {
        acted.push(acting);
        return { status: 200, body: {}, auditId: undefined, responseId: "", refusedBy: undefined };
      },
      findAgent: (agentId) => agentOf(agentId),
      certificates: NONE_REVOKED,
    });
    next.start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(one.acted).toEqual([]);
    expect(acted.map(({ input }) => input)).toMatchObject([{ status: 200, result: { n: 1 } }]);
    expect([register.find("d-1")?.outcome?.status, outcomes.size]).toEqual([200, 0]);
  });

  it("delivers with what is left of the authority that its agent had", async () => {
    const delegation = { ...kept(), scopes: ["booking:room", "outcomes:write"] };
    const whole = await rig();
    await run(whole, delegation);
    const less = await rig([200], { findAgent: (agentId) => agentOf(agentId, ["outcomes:*"]) });
    await run(less, delegation);
    await vi.advanceTimersByTimeAsync(0);
    const scopesOf = ({ acted }: Rig) => acted.map(({ caller }) => caller.authority.scopes);
    expect([scopesOf(whole), scopesOf(less)]).toEqual([[["booking:room"]], [["outcomes:write"]]]);
  });

  // AGTP-CERT "Revocation"
  it("calls no endpoint for an agent whose certificate was revoked, and tells it all the same", async () => {
    const shown = [{ agentId: ALICE, serialNumber: "1f" }];
    const revoked: string[] = [];
    const certificates: BackgroundOptions["certificates"] = {
      isRevoked: ({ serialNumber }, agentId) => revoked.includes(`${agentId} ${serialNumber}`),
    };
    const endpoint = { kind: "endpoint", method: "NOTE", path: "/outcomes" } as const;
    const told = async (callback?: Callback) => {
      const one = await rig([200], { certificates });
      await run(one, { ...kept(callback), shown });
      await vi.advanceTimersByTimeAsync(0);
      return [one.acted.map(({ method }) => method), one.register.find("d-1")?.delivery];
    };
    expect(await told(endpoint)).toMatchObject([["NOTE"], { isDelivered: true }]);
    revoked.push(`${ALICE} 1f`);
    expect(await told(endpoint)).toMatchObject([[], { isDelivered: false }]);
    expect(await told()).toMatchObject([["NOTIFY"], { isDelivered: true }]);
  });

  it("leaves a task that it is given too late to the next deployment", async () => {
    const { background, register, runs, outcomes, tasks } = await rig();
    background.start();
    await background.close();
    const acted: Acting[] = [];
    const next = new Background({
      ...{ register, runs, outcomes, tasks, log: { info: () => undefined, warn: () => undefined } },
      actAs: async (acting) => {
        acted.push(acting);
        return { status: 200, body: {}, auditId: undefined, responseId: "", refusedBy: undefined };
      },
      findAgent: (agentId) => agentOf(agentId),
      certificates: NONE_REVOKED,
    });
    next.start();
    await register.add({ run: kept() });
    background.run(kept(), () => Promise.resolve(DONE));
    await vi.advanceTimersByTimeAsync(0);
    expect(acted.map(({ input }) => input)).toMatchObject([{ content: { result: { n: 1 } } }]);
    expect(tasks.size).toBe(0);
  });

  it("leaves the delivery to another node that has taken it over meanwhile", async () => {
    const store = makeLastingStore();
    const node = (self: string): Holders => ({ ...SOLE_HOLDER, self });
    const stalled = await rig([503], { store, holders: node("a") });
    await run(stalled, kept());
    await vi.advanceTimersByTimeAsync(0);
    const other = await rig([200], { store, holders: node("b") });
    other.background.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(other.register.find("d-1")?.delivery).toMatchObject({ isDelivered: true });
    await stalled.register.refresh();
    await vi.advanceTimersByTimeAsync(200_000);
    expect([stalled.acted.length, other.acted.length]).toEqual([1, 1]);
  });

  it("tells the caller's inbox, with the authority that the caller had", async () => {
    const one = await rig();
    await run(one, kept());
    await vi.advanceTimersByTimeAsync(0);
    const [told] = one.acted;
    expect(told).toMatchObject({
      ...{ method: "NOTIFY", target: "/", taskId: undefined, priorActions: [PRIOR] },
      caller: { agentId: ALICE, authority: { scopes: ["booking:room"] } },
      input: {
        recipient: ALICE,
        content: { event_type: "delegation_outcome", delegation_id: "d-1", result: { n: 1 } },
        notification_id: "d-1",
        delivery_guarantee: "at_least_once",
      },
    });
    expect(told?.caller.delegation).toBeUndefined();
    expect(one.register.list()).toMatchObject([{ id: "d-1", delivery: { isDelivered: true } }]);
  });

  it.each([503, 500, 429])("tries again after %i", async (status) => {
    const one = await rig([status, status, 200]);
    await run(one, kept());
    await vi.advanceTimersByTimeAsync(900);
    expect(one.acted).toHaveLength(1);
    expect(one.register.list()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(200);
    expect(one.acted).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(one.acted).toHaveLength(3);
    expect(one.register.inPhase("active", "waiting")).toEqual([]);
  });

  it("gives up in the end, and says so", async () => {
    const one = await rig([503]);
    await run(one, kept());
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(one.acted).toHaveLength(5);
    expect(one.warned).toEqual([{ delegation_id: "d-1", agent_id: ALICE, status: 503 }]);
    expect(one.register.list()).toMatchObject([{ delivery: { isDelivered: false } }]);
  });

  it("does not try again what is refused for good", async () => {
    const one = await rig([422]);
    await run(one, kept({ kind: "endpoint", method: "RECEIVE", path: "/outcomes" }));
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(one.acted).toHaveLength(1);
    expect(one.acted[0]).toMatchObject({ method: "RECEIVE", target: "/outcomes" });
    expect(one.warned).toHaveLength(1);
  });

  it("tells nobody who is gone", async () => {
    const one = await rig([200], { findAgent: () => undefined });
    await run(one, kept());
    await vi.advanceTimersByTimeAsync(0);
    expect(one.acted).toEqual([]);
    expect(one.register.list()).toEqual([]);
  });

  it("does not run again what ran when the process ended: nobody knows what became of it", async () => {
    const store = createMemoryStore();
    await (await openDelegationRegister(store, SOLE_HOLDER)).add({ run: kept() });
    const one = await rig([200], { store });
    one.background.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(one.acted[0]?.input).toMatchObject({
      content: { status: 550, reason: "interrupted", outcome: "unknown" },
    });
    expect(one.runs.of(ALICE)).toMatchObject([
      { runId: "d-1", state: "failed", code: "interrupted" },
    ]);
  });

  it("keeps what it could not deliver before it ended", async () => {
    const store = createMemoryStore();
    const one = await rig([503], { store });
    await run(one, kept());
    await vi.advanceTimersByTimeAsync(0);
    await one.background.close();
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(one.acted).toHaveLength(1);
    const next = await rig([200], { store });
    next.background.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(next.acted[0]?.input).toMatchObject({ content: { status: 200, result: { n: 1 } } });
  });

  it("does a task once, though its outcome cannot be kept for a while", async () => {
    const memory = createMemoryStore();
    let isFailing = false;
    const store = alterStore(memory, {
      commit: async (...args) => {
        if (isFailing) throw new StoreUnavailableError("unreachable", new Error("it is gone"));
        return memory.commit(...args);
      },
    });
    const one = await rig([200], { store });
    one.background.start();
    await one.register.add({ run: kept() });
    let done = 0;
    one.background.run(kept(), async () => {
      done += 1;
      isFailing = true;
      return DONE;
    });
    await vi.advanceTimersByTimeAsync(5_000);
    expect([done, one.acted.length]).toEqual([1, 0]);
    isFailing = false;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(one.acted.map(({ input }) => input)).toMatchObject([
      { content: { status: 200, result: { n: 1 } } },
    ]);
    expect([done, one.warned]).toEqual([1, []]);
    expect(one.register.list()).toMatchObject([{ delivery: { isDelivered: true } }]);
  });

  it("makes an outcome of a fault", async () => {
    const one = await rig();
    one.background.start();
    await one.register.add({ run: kept() });
    one.background.run(kept(), () => Promise.reject(new Error("broken")));
    await vi.advanceTimersByTimeAsync(0);
    expect(one.acted[0]?.input).toMatchObject({ content: { status: 550, outcome: "unknown" } });
    expect(one.warned).toHaveLength(1);
  });
});

async function outcomes(server: TestServer) {
  const headers = { "Agent-ID": ALICE };
  const { body } = await server.send({ method: "QUERY", path: "/outcomes", headers });
  return Object.values(body["outcomes"] ?? {});
}

describe("DELEGATE with a callback", () => {
  const callback = "RECEIVE /outcomes";

  it("is taken on, and its outcome delivered in the caller's name", async () => {
    const server = await openServer(delegationFiles());
    const reply = await delegate(server, { more: { callback }, headers: { "Task-ID": "t-4" } });
    expect(reply.status).toBe(202);
    const { result } = reply.body;
    expect(result).toMatchObject({
      ...{ state: "accepted", target_agent_id: BOB },
      callback: { kind: "endpoint", method: "RECEIVE", path: "/outcomes" },
    });
    const told = await vi.waitUntil(async () => (await outcomes(server))[0], PATIENCE);
    expect(told).toMatchObject({
      ...{ delegation_id: result?.["delegation_id"], task_id: "t-4", target_agent_id: BOB },
      ...{ status: 200, result: { booked: 2, agent: BOB }, agent: ALICE },
    });
  });

  it("says where it can be asked about, while it runs and once its outcome was delivered", async () => {
    const server = await openServer(delegationFiles());
    const ask = async (poll: unknown, agentId: string) => {
      const { method, path } = poll as { readonly method: string; readonly path: string };
      return server.send({ method, path, headers: { "Agent-ID": agentId } });
    };
    const task = { method: "EXECUTE", path: "/waits" };
    const running = await delegate(server, { task, more: { callback } });
    const { body } = await ask(running.body["result"]?.["poll"], ALICE);
    expect(body["result"]).toMatchObject({
      ...{ delegation_id: running.body["result"]?.["delegation_id"], target_agent_id: BOB },
      ...{ action: "EXECUTE /waits", state: "running", delivery: "pending" },
    });
    for (const other of [BOB, CAROL]) {
      const refused = await ask(running.body["result"]?.["poll"], other);
      expect([refused.status, refused.body["error"]?.["code"]]).toEqual([404, "record-not-found"]);
    }
    const done = await delegate(server, { more: { callback } });
    const told = await vi.waitUntil(async () => {
      const { body } = await ask(done.body["result"]?.["poll"], ALICE);
      return String(body["result"]?.["delivery"]) === "delivered" ? body["result"] : undefined;
    }, PATIENCE);
    expect(told).toMatchObject({ state: "completed", status: 200, result: { booked: 2 } });
    const narrow = { "Agent-ID": ALICE, "Authority-Scope": "documents:read" };
    const place = done.body["result"]?.["poll"] as unknown as { method: string; path: string };
    const kept = await server.send({ ...place, headers: narrow });
    expect([kept.status, kept.body["missing_scopes"]]).toEqual([455, ["booking:room"]]);
    const open = running.body["result"]?.["poll"] as unknown as { method: string; path: string };
    expect((await server.send({ ...open, headers: narrow })).status).toBe(200);
  });

  it("is told of a failure as well", async () => {
    const server = await openServer(delegationFiles());
    const task = { method: "BOOK", path: "/rooms", parameters: { nights: 12 } };
    await delegate(server, { task, more: { callback } });
    const told = await vi.waitUntil(async () => (await outcomes(server))[0], PATIENCE);
    expect(told).toMatchObject({ status: 550, reason: "sub-agent-failed", outcome: "failed" });
  });

  it.each([202, 261])("is told of what goes on, %i, as of what was done", async (status) => {
    const server = await openServer(delegationFiles());
    const task = { method: "EXECUTE", path: "/tickets", parameters: { status } };
    const reply = await delegate(server, { task, more: { callback } });
    const told = await vi.waitUntil(async () => (await outcomes(server))[0], PATIENCE);
    expect(told).toMatchObject({ status, result: { ticket: 7 } });
    const path = String(reply.body["result"]?.["poll"]?.["path"]);
    const headers = { "Agent-ID": ALICE };
    const { body } = await server.send({ method: "QUERY", path, headers });
    expect(body["result"]).toMatchObject({ state: "completed", status });
    const query = { intent: "delegate", scope: "run" };
    const found = await server.send({ method: "QUERY", headers, body: query });
    const [run] = Object.values(found.body["result"]?.["results"] ?? {});
    expect(run).toMatchObject({ content: { state: "completed", status } });
  });

  async function inbox(server: TestServer) {
    const headers = { "Agent-ID": ALICE };
    const { body } = await server.send({ method: "QUERY", path: "/inbox", headers });
    return Object.values(body["result"]?.["entries"] ?? {});
  }

  it("comes into the inbox, even while the task waits for a decision", async () => {
    const server = await openServer(delegationFiles());
    const headers = { "Agent-ID": ALICE, "Task-ID": "t-1" };
    const task = { method: "EXECUTE", path: "/waits" };
    const more = { callback: "inbox", deadline: "1s" };
    const { status } = await delegate(server, { task, more, headers });
    const body = { reason: "scope_limit", context: {} };
    const escalated = await server.send({ method: "ESCALATE", headers, body });
    expect([status, escalated.status]).toEqual([202, 202]);
    const told = await vi.waitUntil(async () => (await inbox(server))[0], PATIENCE);
    expect(told).toMatchObject({ content: { task_id: "t-1", status: 550, reason: "deadline" } });
  });

  it("comes into the inbox without what is too large for it", async () => {
    const server = await openServer(delegationFiles());
    const parameters = { intent: "*", max_results: 100 };
    const task = Array.from({ length: 8 }, () => ({ method: "QUERY", path: "/", parameters }));
    await delegate(server, { task, scopes: [], more: { callback: "inbox" } });
    const told = await vi.waitUntil(async () => (await inbox(server))[0], PATIENCE);
    expect(told).toMatchObject({ content: { status: 200, omitted: ["result"] } });
  });

  it("promises no inbox where NOTIFY is the operator's own", async () => {
    const endpoint = endpointFile({
      ...{ method: "NOTIFY", path: "/" },
      handler: { type: "registered_function", function: "handlers.receive" },
    });
    const server = await openServer(delegationFiles({}, { "endpoints/notify.toml": endpoint }));
    const { status, body } = await delegate(server, { more: { callback: "inbox" } });
    expect(status).toBe(422);
    expect(body["error"]?.["details"]?.["errors"]).toMatchObject([{ path: "/callback" }]);
  });

  it("outlives the server, which does not claim to have finished", async () => {
    const store = makeLastingStore();
    const directory = makeDirectory();
    const first = await openServer(delegationFiles(), {
      state: await openTestState(directory, store),
    });
    const task = { method: "EXECUTE", path: "/waits" };
    const reply = await delegate(first, { task, more: { callback } });
    expect(reply.status).toBe(202);
    await first.deployment.close();
    const state = await openTestState(directory, store);
    const second = await openServer(delegationFiles(), { state });
    const told = await vi.waitUntil(async () => (await outcomes(second))[0], PATIENCE);
    expect(told).toMatchObject({
      ...{
        delegation_id: reply.body["result"]?.["delegation_id"],
        status: 550,
        outcome: "unknown",
      },
    });
    const path = String(reply.body["result"]?.["poll"]?.["path"]);
    const asked = await second.send({ method: "QUERY", path, headers: { "Agent-ID": ALICE } });
    expect(asked.body["result"]).toMatchObject({ state: "failed", reason: "aborted" });
  });

  it("takes on so many of an agent and no more", async () => {
    const server = await openServer(delegationFiles());
    const task = { method: "EXECUTE", path: "/waits" };
    for (let count = 0; count < 32; count += 1) {
      expect((await delegate(server, { task, more: { callback } })).status).toBe(202);
    }
    const { status, body } = await delegate(server, { task, more: { callback } });
    expect([status, body["reason"], body["outcome"]]).toEqual([
      550,
      "too-many-running",
      "not-begun",
    ]);
  });

  it("is for agents that ask for themselves", async () => {
    const server = await openServer(delegationFiles());
    const inner = { target_agent_id: "carol", authority_scope: [], callback };
    const parameters = { ...inner, task: { action: "QUERY /counts" } };
    const reply = await delegate(server, { task: { method: "DELEGATE", parameters } });
    expect(reply.body["sub_agent"]).toMatchObject({ status: 422 });
  });
});
