/**
 * Runs of random workflows on two nodes over one store: each hears late of what the other has done, is killed,
 * and loses answers to its commits. Both come to say the same of every run, nothing is answered by nobody, and
 * whoever is asked finds what waits, once.   OpenWOP RFC 0072 §B, "interrupt"
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EffectLedger } from "../../src/modules/openwop/nodes/conformance-nodes.ts";
import { nodeTypes } from "../../src/modules/openwop/nodes/known-nodes.ts";
import { RunEscalations } from "../../src/modules/openwop/run-escalations.ts";
import { isRefused } from "../../src/modules/openwop/runs/run.ts";
import { RunHost } from "../../src/modules/openwop/runs/run-host.ts";
import type { RunLog } from "../../src/modules/openwop/runs/run-log.ts";
import { openInterrupt } from "../../src/modules/openwop/runs/run-state.ts";
import {
  openWorkflowRuns,
  type WorkflowRuns,
} from "../../src/modules/openwop/runs/workflow-runs.ts";
import type { WorkflowDefinition } from "../../src/modules/openwop/workflows/workflow.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import type { Holders } from "../../src/state/holders.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import { EscalationRegister } from "../../src/state/registers/escalation-register.ts";
import type { Store } from "../../src/state/store.ts";
import { AT, type At, type CommitFault, FAULT, HearingNode } from "../support/hearing-nodes.ts";
import { CATALOG } from "../support/openwop-agents.ts";
import { expectValidLog, LIMITS } from "../support/openwop-runs.ts";
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
  ...(["cut", "resume", "resume", "replay", "branch", "restart", "look"] as const),
  ...(["hear", "hear", "create", "create", "ask", "ask", "ask", "ask"] as const),
];

interface Operation {
  readonly kind: (typeof OPERATIONS)[number];
  readonly at: At;
  /** Of the runs that the node knows by then. */
  readonly run: number;
  readonly word: number;
  readonly fault: CommitFault;
  /** Begun together with the one after it. */
  readonly isConcurrent: boolean;
}

const OPERATION: fc.Arbitrary<Operation> = fc.record({
  ...{ kind: fc.constantFrom(...OPERATIONS), at: AT, run: fc.nat(99), word: fc.nat(99) },
  ...{ fault: FAULT, isConcurrent: fc.boolean() },
});

const AGENT = "a".repeat(64);
const CALLER = {
  owner: { tenant: "acme", principal: `agtp:${AGENT}`, agentId: AGENT, scopes: [] },
  sees: "all",
} as const;

interface Opened {
  readonly register: WorkflowRuns;
  readonly host: RunHost;
  readonly escalations: EscalationRegister;
  readonly queue: RunEscalations;
  close(): void;
}

class World {
  readonly nodes: readonly [HearingNode<Opened>, HearingNode<Opened>];
  readonly #flows: readonly WorkflowDefinition[];
  /** The processes that serve, and those who want to know when one is gone, by node. */
  readonly #serving: [string, string] = ["", ""];
  readonly #heedful: [Set<() => void>, Set<() => void>] = [new Set(), new Set()];
  readonly #opened: Opened[] = [];

  constructor(flows: readonly WorkflowDefinition[]) {
    const shared = createMemoryStore();
    this.#flows = flows;
    this.nodes = [this.#node(shared, 0), this.#node(shared, 1)];
  }

  #node(shared: Store, at: At): HearingNode<Opened> {
    return new HearingNode<Opened>(shared, { open: (store) => this.#open(store, at) });
  }

  async #open(store: Store, at: At): Promise<Opened> {
    const escalations = await EscalationRegister.open(store);
    const register = await openWorkflowRuns(store, { holders: this.#holders(at) });
    const compiler = createSchemaCompiler();
    const types = nodeTypes({
      ...{ executor: EXECUTOR, compiler, isConformance: false, effects: new EffectLedger(store) },
      mockAgent: {
        reasoning: { verbosity: "summary", tokenLimit: 512 },
        thresholdOf: () => undefined,
      },
    });
    const host = new RunHost({
      ...{ register, types, compiler, catalog: CATALOG, limits: LIMITS, isConformance: false },
      tellsOfAgents: true,
      workflows: new Map(
        this.#flows.map((definition) => [definition.id, { definition, configurable: undefined }]),
      ),
      ...{ redact: (value) => value, logger: { warn: () => undefined } },
      stopping: new AbortController().signal,
    });
    const ending = new AbortController();
    const queue = new RunEscalations({
      ...{ host, escalations, agtpIdOf: () => AGENT, ending: ending.signal },
      ...{ policy: { operatorCertificates: [] }, attributor: { isWritable: true } },
      ...{ record: () => Promise.resolve([]), onFault: () => undefined },
    });
    host.start();
    void queue.start();
    register.onGone(() => void queue.lookAgain());
    for (const onGone of this.#heedful[at === 0 ? 1 : 0]) onGone();
    const close = (): void => {
      ending.abort();
      host.close();
    };
    const opened = { register, host, escalations, queue, close };
    this.#opened.push(opened);
    return opened;
  }

  /** A process of a node is gone when the next one has begun. */
  #holders(at: At): Holders {
    const self = `${at} ${this.nodes?.[at]?.life ?? 1}`;
    const heedful = new Set<() => void>();
    this.#serving[at] = self;
    this.#heedful[at] = heedful;
    return {
      self,
      isGone: (process) => !this.#serving.includes(process),
      watch: (onGone) => {
        heedful.add(onGone);
        return () => void heedful.delete(onGone);
      },
    };
  }

  async restart(at: At): Promise<void> {
    const node = this.nodes[at];
    if (node.life > 0) node.registers?.close();
    node.fault = "none";
    await node.start();
  }

  async do({ kind, at, run, word, fault }: Operation): Promise<void> {
    const node = this.nodes[at];
    if (kind === "restart") return this.restart(at);
    if (!node.isServing) return;
    const { host, register, queue } = node.registers;
    const runs = register.list();
    const { runId = "" } = runs[run % Math.max(1, runs.length)] ?? {};
    if (kind !== "hear") node.fault = fault;
    if (isDisturbance(kind)) return disturb(kind, { host, register, caller: CALLER, runId }, word);
    switch (kind) {
      case "hear":
        return node.hear();
      case "ask":
        return queue.lookAgain();
      case "create": {
        // Each node has a caller of its own, and both have one agent that is not sure.
        const owner = { ...CALLER.owner, principal: `${CALLER.owner.principal} ${at}` };
        return void (await host.create({ workflowId: "outer" }, owner));
      }
      case "answer":
        return answer(host, runId, word);
      case "look": {
        const log = await host.find(runId, CALLER);
        if (!isRefused(log)) await log.atRest({ signals: [], timeoutMs: 10 });
      }
    }
  }

  async logs(at: At): Promise<readonly RunLog[]> {
    const { host, register } = this.nodes[at].registers;
    const logs = await Promise.all(register.list().map(({ runId }) => host.find(runId, CALLER)));
    return logs.flatMap((log) => (isRefused(log) ? [] : [log]));
  }

  /** Both hear of everything, until nothing is left to be done; answers what is. */
  async settle(): Promise<readonly string[]> {
    let left: readonly string[] = [];
    for (let turn = 0; turn < MOST_TURNS; turn += 1) {
      for (const node of this.nodes) await node.hear();
      await nextTurn();
      left = [...standing(await this.logs(0)), ...standing(await this.logs(1))];
      if (left.length === 0 && turn >= LEAST_TURNS) break;
    }
    return left;
  }

  close(): void {
    for (const opened of this.#opened) opened.close();
  }
}

const LEAST_TURNS = 60;
const MOST_TURNS = 600;

async function answer(host: RunHost, runId: string, word: number): Promise<void> {
  const log = await host.find(runId, CALLER);
  if (isRefused(log)) return;
  await log.atRest({ signals: [], timeoutMs: 10 });
  const interrupt = openInterrupt(log.state);
  if (interrupt === undefined) return;
  const said = { resumeValue: wordFor(interrupt, word), by: `key:${word % 3}` };
  await host.answer(runId, interrupt.nodeId, said, CALLER);
}

async function check(world: World): Promise<void> {
  for (const at of [0, 1] as const) {
    const { register } = world.nodes[at].registers;
    for (const { run, state } of await world.logs(at)) {
      const events = await register.events(run.runId, -1, 10_000);
      expectValidLog(events);
      for (const { type, payload } of events) {
        if (type === "interrupt.resolved") expect(payload["resolvedBy"]).toMatch(/^key:/);
      }
      const { status, nextSequence: eventCount } = state;
      expect(register.find(run.runId)).toMatchObject({ status, eventCount });
      expect(events).toHaveLength(eventCount);
    }
  }
  const [one, other] = [await world.logs(0), await world.logs(1)].map((logs) =>
    Object.fromEntries(logs.map(({ run, state }) => [run.runId, state])),
  );
  expect(one).toEqual(other);
}

async function checkQueue(world: World): Promise<void> {
  const asked = (await world.logs(0)).flatMap(({ run: { runId }, state }) => {
    const interrupt = openInterrupt(state);
    const isAsked = interrupt !== undefined && interrupt.kind !== "clarification";
    return isAsked ? [`${runId} ${interrupt.interruptId}`] : [];
  });
  for (const { registers } of world.nodes) {
    const open = registers.escalations.list().flatMap(({ status, context }) => {
      const { openwop_run: about } = context as { readonly openwop_run: Record<string, string> };
      return status === "pending_review" ? [`${about["runId"]} ${about["interruptId"]}`] : [];
    });
    expect(open.toSorted()).toEqual(asked.toSorted());
  }
}

describe("runs of workflows on two nodes", () => {
  it.each([
    ["that are killed, and lose answers of their store", true],
    ["that nothing happens to", false],
  ])(
    "%s are the same to both, answered by whoever was asked, and asked about once",
    async (_, isKilled) => {
      const steps = fc.array(OPERATION, { maxLength: 30 });
      await fc.assert(
        fc.asyncProperty(FLOWS, steps, async (flows, operations) => {
          const world = new World(flows);
          try {
            for (const at of [0, 1] as const) await world.restart(at);
            let running: Promise<unknown>[] = [];
            // Work that a killed process had begun has no end.
            const rest = (): Promise<unknown> =>
              Promise.race([Promise.all(running), turns(MOST_TURNS)]);
            for (const operation of operations) {
              if (operation.kind === "restart" && !isKilled) continue;
              const fault = isKilled ? operation.fault : "none";
              running.push(world.do({ ...operation, fault }).catch(() => undefined));
              if (operation.isConcurrent) continue;
              await rest();
              running = [];
            }
            await rest();
            if (isKilled) for (const at of [0, 1] as const) await world.restart(at);
            expect(await world.settle()).toEqual([]);
            await check(world);
            await checkQueue(world);
          } finally {
            world.close();
          }
        }),
        { numRuns: 100 },
      );
    },
    120_000,
  );
});

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}
