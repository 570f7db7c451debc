/**
 * Nodes over one store, within one process: each hears late of what the others have done, in an order of the
 * feed's own, its commits fail where a test says so, and it starts anew as after a crash.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { FeedWatchers } from "../../src/state/feed-watchers.ts";
import type { Feed, Store } from "../../src/state/store.ts";
import { StoreUnavailableError } from "../../src/state/store-fault.ts";
import { alterStore } from "./store.ts";

/** How the next commit of a node fails: before it is made, or before its answer arrives. */
export type CommitFault = "none" | "before" | "after";

/** The store, where the next commit fails as its owner says. */
export function failingStore(store: Store, owner: { fault: CommitFault }): Store {
  return alterStore(store, {
    commit: async (...args) => {
      const { fault } = owner;
      owner.fault = "none";
      if (fault === "before") throw new Error("not written");
      const outcome = await store.commit(...args);
      if (fault === "after") throw new Error("the answer was lost");
      return outcome;
    },
  });
}

/** Which of two nodes. */
export type At = 0 | 1;

export const AT: fc.Arbitrary<At> = fc.constantFrom<At>(0, 1);
export const FAULT: fc.Arbitrary<CommitFault> = fc.constantFrom<CommitFault>(
  ...(["none", "none", "none", "before", "after"] as const),
);

/** A node hears what the others have done; of very much it is told no more than that. */
export interface HearStep {
  readonly kind: "hear";
  readonly at: At;
  readonly isMuch: boolean;
}

export const HEAR: fc.Arbitrary<HearStep> = fc.record({
  ...{ kind: fc.constant("hear" as const), at: AT, isMuch: fc.boolean() },
});

/** Steps, each with whether the next is begun before it has ended. */
export type Steps<Step> = readonly (readonly [step: Step, isConcurrent: boolean])[];

export function stepsOf<Step>(
  step: fc.Arbitrary<Step>,
  maxLength: number,
): fc.Arbitrary<Steps<Step>> {
  return fc.array(fc.tuple(step, fc.boolean()), { maxLength, size: "max" });
}

/** Takes steps; answers what was thrown that a store which fails does not explain. */
export async function play<Step>(
  scheduler: fc.Scheduler,
  steps: Steps<Step>,
  run: (step: Step) => Promise<void>,
): Promise<readonly unknown[]> {
  const thrown: unknown[] = [];
  for (const [step, isConcurrent] of steps) {
    void run(step).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailableError)) thrown.push(error);
    });
    if (!isConcurrent) await runAll(scheduler);
  }
  await runAll(scheduler);
  return thrown;
}

/** The nodes that are starting: a slow machine gives the loop more rounds meanwhile. */
const starting = new Set<{ readonly isPausing: boolean }>();

/** Runs everything that waits for the scheduler or for a node's start, and what that leads to. */
export async function runAll(scheduler: fc.Scheduler): Promise<void> {
  do {
    await scheduler.waitIdle();
    await nextTurn();
  } while (scheduler.count() > 0 || [...starting].some(({ isPausing }) => !isPausing));
}

interface HearingOptions<Registers> {
  /** Opens what the node has of the store. */
  open(store: Store): Promise<Registers>;
  /** Awaited before a commit is made, and before its answer arrives. */
  pause?(): Promise<unknown>;
  /** The barrier of the store; without it, nobody waits for others. */
  everywhere?(): Promise<void>;
}

/** A node: its registers, and what it has heard of the store so far. */
export class HearingNode<Registers> {
  readonly #shared: Store;
  readonly #options: HearingOptions<Registers>;
  #watchers = new FeedWatchers();
  #heardUpTo = 0;
  #heard: Promise<unknown> = Promise.resolve();
  /** Commits are made in the order in which they are asked for, and answered in it. */
  #committed: Promise<unknown> = Promise.resolve();
  #answered: Promise<unknown> = Promise.resolve();
  /** The commits of this life that pause: they may wait for more than rounds. */
  #pausing = 0;
  /** Of the next commit. */
  fault: CommitFault = "none";
  /** False until it has started; nothing is asked of it before. */
  isServing = false;
  /** How often it was started. */
  life = 0;
  registers!: Registers;

  constructor(shared: Store, options: HearingOptions<Registers>) {
    this.#shared = shared;
    this.#options = options;
  }

  /** Starts it anew; nothing of what it did before goes on. It hears nothing before it has started. */
  start(): Promise<void> {
    this.life += 1;
    const { life } = this;
    starting.add(this);
    const started = this.#start(life).finally(() => {
      if (life === this.life) starting.delete(this);
    });
    this.#heard = started.catch(() => undefined);
    return started;
  }

  async #start(life: number): Promise<void> {
    this.isServing = false;
    const watchers = new FeedWatchers();
    this.#watchers = watchers;
    this.#committed = Promise.resolve();
    this.#answered = Promise.resolve();
    this.#pausing = 0;
    this.fault = "none";
    this.#heardUpTo = (await this.#shared.changes(0)).upTo;
    const { everywhere } = this.#options;
    const store = alterStore(this.#shared, {
      commit: (...args) => this.#commit(life, ...args),
      changes: async (...args) => {
        const feed = inOrderOfKeys(await this.#shared.changes(...args));
        await this.#lives(life);
        return feed;
      },
      watch: (...args) => watchers.watch(...args),
      ...(everywhere === undefined ? {} : { everywhere }),
    });
    const registers = await this.#options.open(store);
    if (life !== this.life) return;
    this.registers = registers;
    this.isServing = true;
  }

  /** Takes in what others have changed; `meanwhile` is done between question and answer. */
  hear(meanwhile: () => Promise<unknown> = () => Promise.resolve(), isMuch = false): Promise<void> {
    const heard = this.#heard.then(() => this.#hear(meanwhile, isMuch));
    this.#heard = heard.catch(() => undefined);
    return heard;
  }

  async #hear(meanwhile: () => Promise<unknown>, isMuch: boolean): Promise<void> {
    const { life } = this;
    const told = await this.#watchers.take(
      async () => {
        const feed = inOrderOfKeys(await this.#shared.changes(this.#heardUpTo));
        await meanwhile();
        return feed;
      },
      ({ changed, ...feed }, collection) => ({
        ...feed,
        changed: isMuch ? undefined : changed?.filter((one) => one.collection === collection),
      }),
    );
    if (life === this.life) this.#heardUpTo = told.upTo;
  }

  #commit(life: number, ...args: Parameters<Store["commit"]>): ReturnType<Store["commit"]> {
    // Work that is over must not have others wait behind it.
    if (life !== this.life) return new Promise(() => undefined);
    const { fault } = this;
    this.fault = "none";
    const made = this.#committed.then(async () => {
      await this.#pause(life);
      if (fault === "before") throw lost();
      return this.#shared.commit(...args);
    });
    this.#committed = made.catch(() => undefined);
    const answered = Promise.all([made, this.#answered.catch(() => undefined)]).then(
      async ([outcome]) => {
        await this.#pause(life);
        if (fault === "after") throw lost();
        return outcome;
      },
    );
    this.#answered = answered;
    return answered;
  }

  get isPausing(): boolean {
    return this.#pausing > 0;
  }

  async #pause(life: number): Promise<void> {
    this.#pausing += 1;
    await this.#options.pause?.();
    await this.#lives(life);
    this.#pausing -= 1;
  }

  /** Work that was under way at a new start has no end. */
  #lives(life: number): Promise<void> {
    return life === this.life ? Promise.resolve() : new Promise(() => undefined);
  }
}

function lost(): StoreUnavailableError {
  return new StoreUnavailableError("undecided", new Error("the connection was lost"));
}

/** A database tells of what has changed by its keys. */
function inOrderOfKeys(feed: Feed): Feed {
  const changed = feed.changed?.toSorted((one, other) => (one.key < other.key ? -1 : 1));
  return { ...feed, changed };
}
