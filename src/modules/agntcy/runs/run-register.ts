/**
 * All runs of AGNTCY agents. What a caller was told of is in the store before it was told; a change
 * is made only to a run that stands as the change expects, so that of two that exclude each other
 * exactly one is made. It outlives every reload of the configuration.
 */

import { TaskQueue } from "../../../base/task-queue.ts";
import type { Store } from "../../../state/store.ts";
import { type AgentRun, isSettled, type RunEvent, type RunResult, type RunState } from "./run.ts";
import { fitEvent, sizeOf, statusEvent, withEvents } from "./run-events.ts";
import { RunIndex, type RunLimits, type RunPlace } from "./run-index.ts";
import { deleteRun, putResult, putRun, readEvents, readResult, readRuns } from "./run-storage.ts";

/** A run that begins. */
export type NewRun = Pick<
  AgentRun,
  | "runId"
  | "base"
  | "owner"
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

/** What tests choose. */
export interface RunRegisterOptions {
  readonly limits?: Partial<RunLimits>;
  now?(): number;
}

/** Hears of every change of a run; undefined: the run is there no more. */
export type RunWatcher = (before: AgentRun, after: AgentRun | undefined) => void;

/** A run that is about to begin. */
type Wanted = RunPlace & Pick<AgentRun, "threadId">;

/** Room for it. */
export interface Reservation {
  release(): void;
}

const DAY_MS = 86_400_000;
const LIMITS: RunLimits = {
  ...{ activePerOwner: 64, activePerBase: 128, perOwner: 512, all: 4096 },
  ...{ bytes: 268_435_456, overMs: 7 * DAY_MS, interruptedMs: 30 * DAY_MS },
};

export class RunRegister {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #index: RunIndex;
  readonly #changes = new TaskQueue();
  readonly #reserved = new Set<Wanted>();
  #follow: (run: AgentRun) => void = () => undefined;
  #watcher: RunWatcher | undefined;
  readonly #listeners = new Map<string, Set<() => void>>();

  private constructor(store: Store, { limits, now = Date.now }: RunRegisterOptions) {
    this.#store = store;
    this.#now = now;
    this.#index = new RunIndex({ ...LIMITS, ...limits });
  }

  /** Opens what an earlier process kept. */
  static async open(store: Store, options: RunRegisterOptions = {}): Promise<RunRegister> {
    const register = new RunRegister(store, options);
    for (const run of await readRuns(store)) register.#index.set(run);
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
    return this.#index.get(runId);
  }

  /** Those that are under way on a path. */
  pending(base: string): readonly AgentRun[] {
    return this.#index.all().filter((run) => run.base === base && !isSettled(run));
  }

  /** The newest first. */
  list(isWanted: (run: AgentRun) => boolean, limit: number): readonly AgentRun[] {
    return this.#index.all().filter(isWanted).reverse().slice(0, limit);
  }

  /** Whether a run of the thread is not over. */
  isBusy(threadId: string): boolean {
    if ([...this.#reserved].some((one) => one.threadId === threadId)) return true;
    return this.#index
      .all()
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
    if (!this.#index.admits(wanted, [...this.#reserved])) return undefined;
    this.#reserved.add(wanted);
    return { release: () => void this.#reserved.delete(wanted) };
  }

  /** Takes a run on. Undefined: there is no room, and nothing that could make any. */
  create(wanted: NewRun): Promise<AgentRun | undefined> {
    return this.#changes.run(async () => {
      const now = this.#now();
      const evicted = this.#index.surplus(wanted.owner, now);
      if (evicted === undefined) return undefined;
      const begun = { status: "pending", startedAt: now, updatedAt: now } as const;
      const empty = { eventCount: 0, eventBytes: 0, isTruncated: false, resultBytes: 0 };
      const { run, events } = withEvents({ ...wanted, ...begun, ...empty }, [statusEvent(begun)]);
      await this.#store.commit([...evicted.flatMap(deleteRun), putRun(run), ...events]);
      for (const one of evicted) {
        this.#index.delete(one.runId);
        this.#watcher?.(one, undefined);
      }
      this.#index.set(run);
      return run;
    });
  }

  /** Changes a run that stands as expected; undefined: it does not, and nothing changed. */
  change(
    runId: string,
    expected: readonly RunState[],
    change: RunChange,
    result?: RunResult,
  ): Promise<AgentRun | undefined> {
    return this.#changes.run(async () => {
      const before = this.#index.get(runId);
      if (before === undefined || !expected.includes(before.status)) return undefined;
      const resultBytes = result === undefined ? before.resultBytes : sizeOf(result);
      const changed = compact({ ...before, ...change, resultBytes, updatedAt: this.#now() });
      const isNews = changed.status !== before.status;
      const { run, events } = withEvents(changed, isNews ? [statusEvent(changed)] : []);
      const results = result === undefined ? [] : [putResult(runId, result)];
      await this.#store.commit([putRun(run), ...results, ...events]);
      this.#index.set(run);
      this.#watcher?.(before, run);
      for (const listener of this.#listeners.get(runId) ?? []) listener();
      return run;
    });
  }

  /** Keeps what its server told of a run, as much as there is room for. */
  record(runId: string, told: readonly RunEvent[]): Promise<void> {
    return this.#changes.run(async () => {
      const before = this.#index.get(runId);
      if (before === undefined || before.isTruncated) return;
      const at = new Date(this.#now()).toISOString();
      const { run, events } = withEvents(
        before,
        told.map((event) => fitEvent({ ...event, at })),
      );
      await this.#store.commit([putRun(run), ...events]);
      this.#index.set(run);
    });
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
