/**
 * All runs of AGNTCY agents. What a caller was told of is in the store before it was told; a change
 * is made only to a run that stands as the change expects, so that of two that exclude each other
 * exactly one is made. It outlives every reload of the configuration.
 */

import { mayHold } from "../../../base/places.ts";
import type { TaskOwner } from "../../../base/task-queue.ts";
import { Collection } from "../../../state/collection.ts";
import type { Change, Store } from "../../../state/store.ts";
import {
  type AgentRun,
  isOver,
  isSettled,
  type RunEvent,
  type RunResult,
  type RunState,
} from "./run.ts";
import { fitEvent, sizeOf, statusEvent, withEvents } from "./run-events.ts";
import { attachedTo, putResult, readEvents, readResult, readRun } from "./run-storage.ts";

/** A run that begins. */
export type NewRun = Pick<
  AgentRun,
  | "runId"
  | "base"
  | "owner"
  | "stranger"
  | "upstreamAgentId"
  | "upstreamRunId"
  | "deadlineAt"
  | "threadId"
  | "upstreamThreadId"
  | "mayLackEvents"
>;

/** What becomes different about a run; undefined takes a member away. */
export type RunChange = {
  readonly [Member in ChangingMember]?: AgentRun[Member] | undefined;
};

type ChangingMember =
  | "status"
  | "deadlineAt"
  | "error"
  | "interrupt"
  | "isAnswerSent"
  | "mayLackEvents";

/** How many runs there may be. */
export interface RunLimits {
  /** Under way, of one caller and of one agent. */
  readonly activePerOwner: number;
  readonly activePerBase: number;
  /** Known, of one caller and in all. */
  readonly perOwner: number;
  readonly all: number;
  /** Of results and events in all. */
  readonly bytes: number;
  /** How long what is over is known, and what waits for an answer. */
  readonly overMs: number;
  readonly interruptedMs: number;
}

/** What tests choose. */
export interface RunRegisterOptions {
  readonly limits?: Partial<RunLimits>;
  now?(): number;
}

/** Hears of every change of a run; undefined: the run is there no more. */
export type RunWatcher = (before: AgentRun, after: AgentRun | undefined) => void;

/** A run that is about to begin. */
type Wanted = Pick<AgentRun, "owner" | "base" | "stranger" | "threadId">;

/** Room for it. */
export interface Reservation {
  release(): void;
}

/** A run that moves on, and what is told of that. */
interface Telling {
  readonly run: AgentRun;
  readonly told: readonly RunEvent[];
}

const DAY_MS = 86_400_000;
const LIMITS: RunLimits = {
  ...{ activePerOwner: 64, activePerBase: 128, perOwner: 512, all: 4096 },
  ...{ bytes: 268_435_456, overMs: 7 * DAY_MS, interruptedMs: 30 * DAY_MS },
};

export class RunRegister {
  readonly #store: Store;
  readonly #limits: RunLimits;
  readonly #runs: Collection<AgentRun>;
  readonly #reserved = new Set<Wanted>();
  #follow: (run: AgentRun) => void = () => undefined;
  #watcher: RunWatcher | undefined;
  readonly #listeners = new Map<string, Set<() => void>>();

  private constructor(store: Store, limits: RunLimits, runs: Collection<AgentRun>) {
    this.#store = store;
    this.#limits = limits;
    this.#runs = runs;
  }

  /** Opens what an earlier process kept. */
  static async open(store: Store, options: RunRegisterOptions = {}): Promise<RunRegister> {
    const { now = Date.now } = options;
    const limits = { ...LIMITS, ...options.limits };
    const { perOwner, all, bytes, overMs, interruptedMs } = limits;
    let changed: RunWatcher = () => undefined;
    const runs = await Collection.open(store, {
      name: "agntcy-runs",
      read: readRun,
      ownerOf: ({ owner }) => owner,
      orderOf: ({ startedAt }) => startedAt,
      forgottenAt: (run) => {
        if (!isSettled(run)) return Infinity;
        // At that moment it is over already.
        return run.updatedAt + (isOver(run) ? overMs : interruptedMs) - 1;
      },
      quota: { perOwner, all, characters: bytes },
      sizeOf: ({ resultBytes, eventBytes }) => resultBytes + eventBytes,
      // What is over goes before what waits for an answer; what is under way never.
      rankOf: (run) => (isOver(run) ? 0 : isSettled(run) ? 1 : undefined),
      attachedTo,
      onChange: (before, after) => before && changed(before, after),
      now,
    });
    const register = new RunRegister(store, limits, runs);
    changed = (before, after) => register.#changed(before, after);
    return register;
  }

  /** Whoever follows runs from now on. */
  succeed(follow: (run: AgentRun) => void): void {
    this.#follow = follow;
  }

  /** Has a run followed by whoever follows runs now; whoever begins to do so finds it by itself. */
  handOver(run: AgentRun): void {
    this.#follow(run);
  }

  /** From now on this hears of changes, until the function that is answered was called. */
  watch(watcher: RunWatcher): () => void {
    this.#watcher = watcher;
    return () => {
      if (this.#watcher === watcher) this.#watcher = undefined;
    };
  }

  find(runId: string): AgentRun | undefined {
    return this.#runs.get(runId);
  }

  /** Those that are under way on a path. */
  pending(base: string): readonly AgentRun[] {
    return this.#runs.values().filter((run) => run.base === base && !isSettled(run));
  }

  /** The newest first. */
  list(isWanted: (run: AgentRun) => boolean, limit: number): readonly AgentRun[] {
    return this.#runs.values().filter(isWanted).reverse().slice(0, limit);
  }

  /** Whether a run of the thread is not over. */
  isBusy(threadId: string): boolean {
    if ([...this.#reserved].some((one) => one.threadId === threadId)) return true;
    return this.#runs
      .values()
      .some((run) => run.threadId === threadId && ["pending", "interrupted"].includes(run.status));
  }

  result(runId: string): Promise<RunResult> {
    return readResult(this.#store, runId);
  }

  events(runId: string, after: number, limit: number): Promise<readonly RunEvent[]> {
    return readEvents(this.#store, runId, after, limit);
  }

  /** Keeps room for one more; undefined: too many are under way. Release it, whatever comes. */
  reserve(wanted: Wanted): Reservation | undefined {
    const running = this.#runs.values().filter((run) => !isSettled(run));
    const { activePerOwner, activePerBase } = this.#limits;
    const owner = placeOwner(wanted);
    const active = [...running, ...this.#reserved].map((one) => ({
      owner: placeOwner(one),
      base: one.base,
    }));
    const own = active.filter((one) => one.owner.key === owner.key).length;
    const there = active.filter(({ base }) => base === wanted.base);
    if (own >= activePerOwner || !mayHold(owner, activePerBase, there)) return undefined;
    this.#reserved.add(wanted);
    return { release: () => void this.#reserved.delete(wanted) };
  }

  /** Takes a run on. Undefined: there is no room, and nothing that could make any. */
  async create(wanted: NewRun): Promise<AgentRun | undefined> {
    const now = this.#runs.now();
    const begun = { status: "pending", startedAt: now, updatedAt: now } as const;
    const empty = { eventCount: 0, eventBytes: 0, isTruncated: false, resultBytes: 0 };
    const { run, events } = withEvents({ ...wanted, ...begun, ...empty }, [statusEvent(begun)]);
    const adding = await this.#runs.add(run.runId, run, { also: events });
    return adding.kind === "added" ? adding.item : undefined;
  }

  /** Changes a run that stands as expected; undefined: it does not, and nothing changed. */
  async change(
    runId: string,
    expected: readonly RunState[],
    change: RunChange,
    result?: RunResult,
  ): Promise<AgentRun | undefined> {
    const results = result === undefined ? [] : [putResult(runId, result)];
    return this.#append(runId, results, (before) => {
      if (!expected.includes(before.status)) return undefined;
      const resultBytes = result === undefined ? before.resultBytes : sizeOf(result);
      const updatedAt = this.#runs.now();
      const run = compact({ ...before, ...change, resultBytes, updatedAt });
      return { run, told: run.status === before.status ? [] : [statusEvent(run)] };
    });
  }

  /** Keeps what its server told of a run, as much as there is room for. */
  async record(runId: string, told: readonly RunEvent[]): Promise<void> {
    await this.#append(runId, [], (run) => {
      if (run.isTruncated) return undefined;
      const at = new Date(this.#runs.now()).toISOString();
      return { run, told: told.map((event) => fitEvent({ ...event, at })) };
    });
  }

  /** Moves a run on with the events that say so; undefined where it does not move. */
  async #append(
    runId: string,
    others: readonly Change[],
    decide: (before: AgentRun) => Telling | undefined,
  ): Promise<AgentRun | undefined> {
    let events: readonly Change[] = [];
    const { item, isChanged } = await this.#runs.change(
      runId,
      (before) => {
        const telling = decide(before);
        const next = telling && withEvents(telling.run, telling.told);
        events = next?.events ?? [];
        return next?.run;
      },
      { also: () => [...others, ...events] },
    );
    return isChanged ? item : undefined;
  }

  #changed(before: AgentRun, after: AgentRun | undefined): void {
    this.#watcher?.(before, after);
    for (const listener of this.#listeners.get(before.runId) ?? []) listener();
  }

  /** Resolves when nothing is under way any more, at the latest after `waitMs`. */
  async settled(runId: string, waitMs: number, signal: AbortSignal): Promise<void> {
    const isWaited = (): boolean => this.find(runId)?.status === "pending" && !signal.aborted;
    if (waitMs <= 0 || !isWaited()) return;
    await new Promise<void>((resolve) => {
      const listeners = this.#listeners.get(runId) ?? new Set();
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        listeners.delete(look);
        if (listeners.size === 0) this.#listeners.delete(runId);
        resolve();
      };
      const look = (): void => {
        if (!isWaited()) end();
      };
      const timer = setTimeout(end, waitMs);
      signal.addEventListener("abort", end, { once: true });
      this.#listeners.set(runId, listeners.add(look));
    });
  }
}

/** Without members that are undefined. */
function compact(run: { readonly [Member in keyof AgentRun]: AgentRun[Member] | undefined }) {
  const members = Object.entries(run).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members) as unknown as AgentRun;
}

/** Whoever is not known can be somebody else each time, but not from elsewhere. */
function placeOwner({ owner, stranger }: Pick<AgentRun, "owner" | "stranger">): TaskOwner {
  return { key: stranger ?? owner, isKnown: stranger === undefined };
}
