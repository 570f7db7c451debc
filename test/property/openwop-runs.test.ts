/**
 * Runs of random workflows, with random words from outside, and processes that are killed between any two
 * commits: every log is whole, valid and folds into what is told of the run, none is left standing, and
 * nothing that a run began goes on behind its end.   OpenWOP "replay", "interrupt", RFC 0072 §B
 */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { RunEscalations } from "../../src/modules/openwop/run-escalations.ts";
import { applyEvent } from "../../src/modules/openwop/runs/fold-run.ts";
import { isOver, isRefused } from "../../src/modules/openwop/runs/run.ts";
import type { RunLog } from "../../src/modules/openwop/runs/run-log.ts";
import {
  initialState,
  openInterrupt,
  runSnapshot,
} from "../../src/modules/openwop/runs/run-state.ts";
import type { WorkflowDefinition } from "../../src/modules/openwop/workflows/workflow.ts";
import { EscalationRegister } from "../../src/state/registers/escalation-register.ts";
import type { Store } from "../../src/state/store.ts";
import { CATALOG } from "../support/openwop-agents.ts";
import {
  createRuns,
  expectValidLog,
  killableStore,
  lastingStore,
  type RunServer,
} from "../support/openwop-runs.ts";
import { PATIENCE } from "../support/patience.ts";
import {
  disturb,
  EXECUTOR,
  FLOWS,
  isDisturbance,
  standing,
  wordFor,
} from "../support/random-workflows.ts";

const OPERATIONS = [
  ...(["create", "create", "answer", "answer", "answer", "answer", "cancel", "pause"] as const),
  ...(["cut", "resume", "resume", "replay", "branch", "restart", "kill", "look"] as const),
  ...(["cut off", "cut off", "cut off"] as const),
];

interface Operation {
  readonly kind: (typeof OPERATIONS)[number];
  /** Of the runs that there are by then. */
  readonly run: number;
  readonly word: number;
  /** Begun together with the one after it. */
  readonly isConcurrent: boolean;
}

const OPERATION: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom(...OPERATIONS),
  run: fc.nat(99),
  word: fc.nat(99),
  isConcurrent: fc.boolean(),
});

const AGENT = "a".repeat(64);
const OWNER = { tenant: "acme", principal: `agtp:${AGENT}`, agentId: AGENT, scopes: [] };
const CALLER = { owner: OWNER, sees: "all" } as const;

class World {
  readonly #disk: Store = lastingStore();
  readonly #workflows: readonly WorkflowDefinition[];
  server!: RunServer;
  escalations!: EscalationRegister;
  queue!: RunEscalations;
  #ending = new AbortController();
  #kill: (commits: number) => void = () => undefined;

  constructor(workflows: readonly WorkflowDefinition[]) {
    this.#workflows = workflows;
  }

  async start(): Promise<void> {
    const store = killableStore(this.#disk);
    this.#kill = (commits) => store.killAfter(commits);
    const agents = { executor: EXECUTOR, catalog: CATALOG };
    this.server = await createRuns({ store, workflows: this.#workflows, ...agents });
    this.escalations = await EscalationRegister.open(store);
    this.#ending = new AbortController();
    this.queue = new RunEscalations({
      ...{ host: this.server.host, escalations: this.escalations, agtpIdOf: () => AGENT },
      ...{ policy: { operatorCertificates: [] }, attributor: { isWritable: true } },
      ...{ record: () => Promise.resolve([]), onFault: () => undefined },
      ending: this.#ending.signal,
    });
    await this.queue.start();
  }

  async restart(): Promise<void> {
    this.#kill(0);
    await this.close();
    await this.start();
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.server.close();
  }

  async do({ kind, run, word }: Operation): Promise<void> {
    const { host, register } = this.server;
    const runs = register.list();
    const { runId = "" } = runs[run % Math.max(1, runs.length)] ?? {};
    if (isDisturbance(kind)) return disturb(kind, { host, register, caller: CALLER, runId }, word);
    switch (kind) {
      case "create":
        return void (await host.create({ workflowId: "outer" }, OWNER));
      case "answer":
        return this.#answer(runId, word);
      case "cut off":
        // In the middle of its copying.
        this.#kill(1 + (word % 12));
        return void (await host.fork(runId, { mode: "replay" }, CALLER));
      case "kill":
        return this.#kill(word % 8);
      case "restart":
        return this.restart();
      case "look": {
        const log = await host.find(runId, CALLER);
        if (!isRefused(log)) await log.atRest({ signals: [], timeoutMs: 20 });
      }
    }
  }

  async #answer(runId: string, word: number): Promise<void> {
    const { host } = this.server;
    const log = await host.find(runId, CALLER);
    if (isRefused(log)) return;
    await log.atRest({ signals: [], timeoutMs: 20 });
    const interrupt = openInterrupt(log.state);
    if (interrupt === undefined) return;
    const answer = { resumeValue: wordFor(interrupt, word), by: `key:${word % 3}` };
    await host.answer(runId, interrupt.nodeId, answer, CALLER);
  }

  async logs(): Promise<readonly RunLog[]> {
    const { host, register } = this.server;
    const logs = await Promise.all(register.list().map(({ runId }) => host.find(runId, CALLER)));
    return logs.flatMap((log) => (isRefused(log) ? [] : [log]));
  }
}

async function eventsOf({ run: { runId } }: RunLog, { register }: RunServer) {
  return register.events(runId, -1, 10_000);
}

describe("runs of workflows", () => {
  it("have whole logs that fold into what is told of them, whatever is killed in between", async () => {
    await fc.assert(
      fc.asyncProperty(FLOWS, fc.array(OPERATION, { maxLength: 30 }), async (flows, operations) => {
        const world = new World(flows);
        await world.start();
        try {
          let running: Promise<unknown>[] = [];
          for (const operation of operations) {
            running.push(world.do(operation).catch(() => undefined));
            if (operation.isConcurrent && operation.kind !== "restart") continue;
            await Promise.all(running);
            running = [];
          }
          await Promise.all(running);
          await world.restart();
          await vi.waitFor(async () => expect(standing(await world.logs())).toEqual([]), {
            ...PATIENCE,
            interval: 2,
          });
          await check(world);
          await checkReplays(world);
          await checkQueue(world);
        } finally {
          await world.close();
        }
      }),
      { numRuns: 100 },
    );
  }, 120_000);
});

async function check(world: World): Promise<void> {
  const { server } = world;
  const logs = await world.logs();
  const byId = new Map(logs.map((log) => [log.run.runId, log]));
  for (const log of logs) {
    const { run, state } = log;
    const events = await eventsOf(log, server);
    expectValidLog(events);
    const folded = events.reduce((at, one) => applyEvent(at, one, run), initialState(run));
    expect(runSnapshot(run, state)).toEqual(runSnapshot(run, folded));
    const entry = server.register.find(run.runId);
    expect(entry).toMatchObject({ status: state.status, eventCount: events.length });
    expect(entry?.endedAt !== undefined).toBe(isOver(state.status));
    const parent = byId.get(run.parent?.runId ?? "");
    if (parent !== undefined && isOver(parent.state.status))
      expect(isOver(state.status)).toBe(true);
    if (events.length > 0) expect(events[0]?.type).toBe("run.started");
  }
}

/** A recorded answer is given again, to the letter; work without a record is not done. */
async function checkReplays(world: World): Promise<void> {
  const { server } = world;
  for (const log of await world.logs()) {
    const { status } = log.state;
    if (status === "cancelled" || status === "running") continue;
    const replay = await server.host.fork(log.run.runId, { mode: "replay" }, CALLER);
    if (isRefused(replay)) throw new Error(replay.message);
    await vi.waitFor(() => expect(standing([replay])).toEqual([]), { ...PATIENCE, interval: 1 });
    const shape = async (one: RunLog) =>
      (await eventsOf(one, server)).map(({ type, nodeId, payload, sequence }) => {
        return { type, nodeId, payload, sequence };
      });
    expect(await shape(replay)).toEqual(await shape(log));
    expect(replay.state.status).toBe(status);
  }
}

/** The queue has each question that waits, once, and no other. */
async function checkQueue(world: World): Promise<void> {
  const asked = (await world.logs()).flatMap(({ run: { runId }, state }) => {
    const interrupt = openInterrupt(state);
    const isAsked = interrupt !== undefined && interrupt.kind !== "clarification";
    return isAsked ? [`${runId} ${interrupt.interruptId}`] : [];
  });
  const open = (): readonly string[] =>
    world.escalations.list().flatMap(({ status, context }) => {
      const { openwop_run: about } = context as { readonly openwop_run: Record<string, string> };
      return status === "pending_review" ? [`${about["runId"]} ${about["interruptId"]}`] : [];
    });
  await vi.waitFor(() => expect(open().toSorted()).toEqual(asked.toSorted()), {
    ...PATIENCE,
    interval: 1,
  });
}
