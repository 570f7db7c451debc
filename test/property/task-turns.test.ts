/**
 * The turns of a task that must not overlap, at two nodes that hear late of each other, whose commits fail before or
 * after they are made, and which are killed or held for gone while they work: one of them at a time has the turn, unless
 * the other is held for gone, and whoever waits for it has it in the end.   agentcli spec "Overlap"
 */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type TakenTurn, TaskTurns } from "../../src/modules/agentcli/run/task-turns.ts";
import type { Holders } from "../../src/state/holders.ts";
import { createMemoryStore } from "../../src/state/memory-store.ts";
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

const LEAST_ROUNDS = 4;
const MOST_ROUNDS = 40;
const TASK = "wf:w1/task:t1";

type Step =
  | {
      readonly kind: "take";
      readonly at: At;
      /** It waits for its turn. */
      readonly isPatient: boolean;
      readonly fault: CommitFault;
    }
  /** From the last one back: it has run, or is waited for no longer. */
  | { readonly kind: "end" | "give-up"; readonly index: number; readonly fault: CommitFault }
  | { readonly kind: "restart" | "fall-silent" | "speak"; readonly at: At }
  | HearStep;

const index = fc.constantFrom(0, 0, 1);
const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      ...{ kind: fc.constant("take" as const), at: AT, isPatient: fc.boolean(), fault: FAULT },
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("end" as const, "end", "end", "give-up"),
      ...{ index, fault: FAULT },
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("restart" as const, "fall-silent", "speak", "speak"),
      at: AT,
    }),
  },
  { weight: 3, arbitrary: HEAR },
);

/** A run of the task that has its turn. */
interface Running {
  readonly at: At;
  readonly life: number;
  readonly turn: TakenTurn;
  /** Its node is held for gone, or was since it began. */
  isLeft: boolean;
}

/** One that waits for its turn. */
interface Waiting {
  readonly at: At;
  readonly life: number;
  readonly given: AbortController;
}

class World {
  readonly #store = createMemoryStore();
  readonly #nodes: readonly [HearingNode<TaskTurns>, HearingNode<TaskTurns>];
  readonly #silent = new Set<string>();
  readonly #heedful: readonly [Set<() => void>, Set<() => void>] = [new Set(), new Set()];
  readonly #running: Running[] = [];
  readonly #waiting: Waiting[] = [];
  readonly wrong: string[] = [];

  constructor(pause: () => Promise<unknown>) {
    const make = (at: At): HearingNode<TaskTurns> =>
      new HearingNode<TaskTurns>(this.#store, {
        open: (store) => TaskTurns.open(store, this.#holdersOf(at)),
        pause,
      });
    this.#nodes = [make(0), make(1)];
  }

  async start(): Promise<void> {
    for (const node of this.#nodes) await node.start();
  }

  #processOf(at: At): string {
    return `${at} ${this.#nodes[at].life}`;
  }

  #holdersOf(at: At): Holders {
    const self = this.#processOf(at);
    const heedful = this.#heedful[at];
    return {
      self,
      isGone: (process) => {
        const lives = ([0, 1] as const).map((one) => this.#processOf(one));
        return process !== self && (this.#silent.has(process) || !lives.includes(process));
      },
      watch: (onGone) => {
        heedful.add(onGone);
        return () => void heedful.delete(onGone);
      },
    };
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case "take":
        return this.#take(step);
      case "end": {
        const one = this.#nth(this.#running, step.index);
        if (one === undefined) return;
        this.#nodes[one.at].fault = step.fault;
        return one.turn.end();
      }
      case "give-up":
        return this.#nth(this.#waiting, step.index)?.given.abort();
      case "restart":
        return this.#restart(step.at);
      case "fall-silent":
        for (const one of this.#running) if (one.at === step.at) one.isLeft = true;
        this.#silent.add(this.#processOf(step.at));
        return this.#tellOfGone(step.at);
      case "speak":
        this.#silent.delete(this.#processOf(step.at));
        return;
      case "hear":
        return this.#nodes[step.at].hear(undefined, step.isMuch);
    }
  }

  async #restart(at: At): Promise<void> {
    for (const all of [this.#running, this.#waiting]) {
      const left = all.filter((one) => one.at !== at);
      all.splice(0, all.length, ...(left as (Running & Waiting)[]));
    }
    this.#heedful[at].clear();
    const started = this.#nodes[at].start();
    await Promise.all([started, this.#tellOfGone(at)]);
  }

  /** The other node learns that a process is gone, long after it has heard of what that one had done. */
  async #tellOfGone(gone: At): Promise<void> {
    const at = gone === 0 ? 1 : 0;
    await this.#nodes[at].hear();
    for (const onGone of [...this.#heedful[at]]) onGone();
  }

  async #take({ at, isPatient, fault }: Extract<Step, { kind: "take" }>): Promise<void> {
    const node = this.#nodes[at];
    if (!node.isServing) return;
    const { life, registers } = node;
    const given = new AbortController();
    const waiting = { at, life, given };
    this.#waiting.push(waiting);
    node.fault = fault;
    try {
      const turn = await (isPatient
        ? registers.await(TASK, { signals: [given.signal] })
        : registers.take(TASK));
      if (life !== node.life) return;
      if (turn !== undefined) this.#begin({ at, life, turn, isLeft: false });
      else if (isPatient && !given.signal.aborted) this.wrong.push("is kept from its turn");
    } finally {
      const place = this.#waiting.indexOf(waiting);
      if (place >= 0) this.#waiting.splice(place, 1);
    }
  }

  #begin(one: Running): void {
    one.isLeft = this.#silent.has(this.#processOf(one.at));
    const others = this.#running.filter(({ isLeft }) => !isLeft);
    if (others.length > 0 && !one.isLeft) this.wrong.push(`${one.at} overlaps ${others[0]?.at}`);
    this.#running.push(one);
  }

  /** Ends each turn that is held until nobody waits; then each node can have it. */
  async end(scheduler: fc.Scheduler): Promise<void> {
    for (const at of [0, 1] as const) {
      this.#nodes[at].fault = "none";
      this.#silent.delete(this.#processOf(at));
    }
    await this.#rest(scheduler);
    if (this.#waiting.length > 0) this.wrong.push(`${this.#waiting.length} wait for ever`);
    for (const at of [0, 1] as const) {
      void this.#nodes[at].hear();
      await runAll(scheduler);
      void this.#take({ kind: "take", at, isPatient: false, fault: "none" });
      await runAll(scheduler);
      if (this.#running.length !== 1) this.wrong.push(`${at} has no turn`);
      await this.#rest(scheduler);
    }
  }

  async #rest(scheduler: fc.Scheduler): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      if (round >= LEAST_ROUNDS && this.#running.length + this.#waiting.length === 0) return;
      for (const one of this.#running.splice(0)) void one.turn.end();
      // A turn that the store did not take back is given back later.
      vi.advanceTimersByTime(30_000);
      for (const node of this.#nodes) void node.hear();
      await runAll(scheduler);
    }
  }

  #nth<Item>(items: Item[], index: number): Item | undefined {
    const place = items.length - 1 - (index % Math.max(1, items.length));
    return items.splice(place, 1)[0];
  }
}

describe("the turns of a task at two nodes", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  it("do not overlap, and are kept from nobody", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), stepsOf(STEP, 25), async (scheduler, steps) => {
        const world = new World(() => scheduler.schedule(Promise.resolve()));
        await world.start();
        const thrown = await play(scheduler, steps, (step) => world.run(step));
        expect(thrown).toEqual([]);
        await world.end(scheduler);
        expect(world.wrong).toEqual([]);
        vi.clearAllTimers();
      }),
      { numRuns: 200 },
    );
  });
});
