/**
 * Delegations that two nodes take on and take over of each other, each late to hear of the other, with commits that
 * fail and nodes that stall or are killed: a task is done once at most, and its caller hears of one outcome.
 */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ActAs } from "../../src/dispatch/handling/acting.ts";
import type { AgentDocument } from "../../src/identity/agent-document.ts";
import { Background } from "../../src/modules/delegation/background.ts";
import type { Outcome } from "../../src/modules/delegation/outcome.ts";
import { RecentRuns } from "../../src/modules/delegation/recent-runs.ts";
import {
  type DelegationRegister,
  type KeptDelegation,
  openDelegationRegister,
} from "../../src/modules/delegation/register.ts";
import type { Holders } from "../../src/state/holders.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
import type { Store } from "../../src/state/store.ts";
import {
  AT,
  type At,
  type CommitFault,
  FAULT,
  HEAR,
  HearingNode,
  type HearStep,
  play,
  runAll,
  stepsOf,
} from "../support/hearing-nodes.ts";

const ALICE = "a".repeat(64);
const DONE: Outcome = { kind: "completed", status: 200, result: 1, priorActions: [] };

type Step =
  | { readonly kind: "delegate"; readonly at: At; readonly fault: CommitFault }
  | { readonly kind: "stall" | "goOn" | "restart"; readonly at: At }
  | HearStep;

const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("delegate" as const), at: AT, fault: FAULT }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "stall" as const,
        "stall" as const,
        "goOn" as const,
        "restart" as const,
      ),
      at: AT,
    }),
  },
  {
    weight: 3,
    arbitrary: HEAR,
  },
);

interface Registers {
  readonly register: DelegationRegister;
  readonly runs: RecentRuns;
  readonly background: Background;
}

/** The outcome of a delegation. */
interface Told {
  done: number;
  /** Its node was held for gone, or has ended. */
  isLeft: boolean;
  isTaken: boolean;
  readonly outcomes: unknown[];
}

class World {
  readonly store = createMemoryStore();
  readonly nodes: readonly [HearingNode<Registers>, HearingNode<Registers>];
  readonly wrong: string[] = [];
  readonly #pause: () => Promise<unknown>;
  readonly #told = new Map<string, Told & { readonly process: string }>();
  readonly #gone = new Set<string>();
  readonly #watchers = new Set<() => void>();

  constructor(pause: () => Promise<unknown>) {
    this.#pause = pause;
    const make = (own: At) =>
      new HearingNode<Registers>(this.store, { open: (store) => this.#open(own, store), pause });
    this.nodes = [make(0), make(1)];
  }

  async start(): Promise<void> {
    for (const node of this.nodes) await node.start();
  }

  #processOf(own: At): string {
    return `${own}/${this.nodes[own].life}`;
  }

  async #open(own: At, store: Store): Promise<Registers> {
    const self = this.#processOf(own);
    const { life } = this.nodes[own];
    const lives = (): Promise<void> =>
      life === this.nodes[own].life ? Promise.resolve() : new Promise(() => undefined);
    const holders: Holders = {
      self,
      isGone: (process) => process !== self && this.#gone.has(process),
      watch: (onGone) => {
        const watcher = (): void => {
          if (life === this.nodes[own].life) onGone();
        };
        this.#watchers.add(watcher);
        return () => void this.#watchers.delete(watcher);
      },
    };
    const register = await openDelegationRegister(store, holders);
    const runs = await RecentRuns.open();
    const actAs: ActAs = async ({ input }) => {
      await this.#pause();
      await lives();
      const outcome = JSON.stringify(input);
      this.#toldOf(String(input["delegation_id"])).outcomes.push(outcome);
      await this.#pause();
      await lives();
      return { status: 200, body: {}, auditId: undefined, responseId: "", refusedBy: undefined };
    };
    const background = new Background({
      ...{ register, runs, actAs, tasks: new Map(), outcomes: new Map() },
      log: { info: () => undefined, warn: () => undefined },
      findAgent: (agentId) => ({ agentId, scopes: [], trustTier: 2 }) as unknown as AgentDocument,
      certificates: { isRevoked: () => false },
    });
    background.start();
    return { register, runs, background };
  }

  #toldOf(id: string): Told & { readonly process: string } {
    const told = this.#told.get(id);
    if (told === undefined) throw new Error(`${id} was never begun`);
    return told;
  }

  /** A process that others hold for gone. */
  #leave(process: string): void {
    this.#gone.add(process);
    for (const told of this.#told.values()) if (told.process === process) told.isLeft = true;
    for (const watcher of [...this.#watchers]) watcher();
  }

  async run(step: Step): Promise<void> {
    const node = this.nodes[step.at];
    const process = this.#processOf(step.at);
    if (step.kind === "restart") {
      const started = node.start();
      this.#leave(process);
      return started;
    }
    if (!node.isServing) return;
    switch (step.kind) {
      case "stall":
        return this.#leave(process);
      case "goOn":
        this.#gone.delete(process);
        return;
      case "hear":
        return node.hear(this.#pause, step.isMuch);
      case "delegate":
        return this.#delegate(node, process, step.fault);
    }
  }

  async #delegate(
    node: HearingNode<Registers>,
    process: string,
    fault: CommitFault,
  ): Promise<void> {
    const { registers, life } = node;
    const { register, runs, background } = registers;
    const id = `d-${this.#told.size}`;
    const isLeft = this.#gone.has(process);
    const told = { done: 0, isLeft, isTaken: false, outcomes: [], process };
    this.#told.set(id, told);
    node.fault = fault;
    const kept: KeptDelegation = {
      ...{ id, agentId: ALICE, scopes: [], target: ALICE, action: "BOOK" },
      callback: { kind: "endpoint", method: "NOTE", path: "/outcomes" },
    };
    if ((await register.add({ run: kept })).kind !== "added" || life !== node.life) return;
    await runs.begin(ALICE, { kind: "delegate", action: "BOOK", runId: id });
    background.run(kept, async () => {
      told.done += 1;
      await this.#pause();
      return DONE;
    });
    told.isTaken = true;
  }

  async check(): Promise<void> {
    const kept = await this.store.list("delegations");
    const stored = new Map(
      kept.flatMap(({ key, value }) =>
        key.startsWith("!") ? [] : [[key, value as KeptDelegation] as const],
      ),
    );
    for (const [id, { done, isLeft, isTaken, outcomes }] of this.#told) {
      if (done > 1) this.wrong.push(`${id} was done ${done} times`);
      if (new Set(outcomes).size > 1) this.wrong.push(`${id} had outcomes ${outcomes}`);
      const one = stored.get(id);
      if (isTaken && one !== undefined && one.delivery?.isDelivered !== true)
        this.wrong.push(`${id} was not delivered`);
      if (isTaken && one === undefined) this.wrong.push(`${id} was lost`);
      if (!isTaken || isLeft) continue;
      if (done !== 1 || one?.outcome?.status !== 200)
        this.wrong.push(`${id} is ${one?.outcome?.status}, done ${done} times`);
    }
  }
}

describe("delegations on two nodes", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  it("are done once at most, and delivered with one outcome", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), stepsOf(STEP, 20), async (scheduler, steps) => {
        const world = new World(() => scheduler.schedule(Promise.resolve()));
        await world.start();
        const thrown = await play(scheduler, steps, (step) => world.run(step));
        expect(thrown).toEqual([]);
        for (let round = 0; round < 6; round += 1) {
          await Promise.all(world.nodes.map((node) => node.hear()));
          for (const at of [0, 1] as const) await world.run({ kind: "goOn", at });
          vi.advanceTimersByTime(60_000);
          await runAll(scheduler);
        }
        await world.check();
        expect(world.wrong).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
