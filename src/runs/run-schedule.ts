/**
 * Schedules the execution of runs: up to the configured concurrency, round-robin over owners, and never one run
 * twice at once. No owner holds more places than it leaves free, so one owner's thousand long runs do not block the
 * others.
 */

import { type BackOff, pauseAfter } from "../base/back-off.ts";
import { type HeldPlaces, mayHoldMore } from "../base/fair-shares.ts";
import { HolderLostError } from "../state/holders.ts";
import { isStoreUnavailable } from "../state/store-fault.ts";

/** A run that waits to be executed. */
export interface ScheduledRun {
  readonly runId: string;
  readonly owner: string;
  /** True if the owner is unauthenticated; such owners share at most half of the places. */
  readonly isStranger?: boolean;
}

export interface RunExecutor {
  /** The most executions at once. */
  readonly concurrent: number;
  /** The most queued runs; undefined: unbounded. */
  readonly waiting?: number;
  /**
   * Executes one run; the executor interprets the abort reason.
   * @throws StoreUnavailableError: the run is unchanged, and is executed again after a pause
   * @throws HolderLostError: another node executes the run
   */
  execute(runId: string, stop: AbortController): Promise<void>;
  /** Called with any other error that is thrown. */
  reportFault(error: unknown, runId: string): void;
  /** Called once an execution has ended and is not to be repeated. */
  forget?(runId: string): void;
}

/** The queued runs of an owner. */
interface Lane extends Pick<ScheduledRun, "owner" | "isStranger"> {
  readonly runIds: Set<string>;
}

interface Execution {
  readonly stop: AbortController;
  readonly executor: RunExecutor;
  readonly ended: Promise<void>;
}

/** The pauses before an execution is repeated after the store was unavailable. */
const LATER: BackOff = { firstMs: 500, longestMs: 30_000 };

export class RunSchedule {
  /** By owner, in round-robin order. */
  readonly #lanes = new Map<string, Lane>();
  readonly #executing = new Map<string, Execution>();
  /** Executions in progress, by owner. */
  readonly #held = new Map<string, number>();
  #heldByStrangers = 0;
  /** Consecutive executions stopped by the store, by run id. */
  readonly #left = new Map<string, number>();
  #executor: RunExecutor | undefined;

  /** True if a run is queued or being executed. */
  has(run: ScheduledRun): boolean {
    return this.#executing.has(run.runId) || this.#isWaiting(run);
  }

  /** Aborts the execution of a run; false if there is none. */
  stop(runId: string, why: unknown): boolean {
    const executing = this.#executing.get(runId);
    executing?.stop.abort(why);
    return executing !== undefined;
  }

  /** Uses another executor from now on; executions in progress stay with theirs. */
  use(executor: RunExecutor): void {
    this.#executor = executor;
    this.#fill();
  }

  /** Starts no execution until an executor is set again. */
  pause(executor: RunExecutor): void {
    if (this.#executor === executor) this.#executor = undefined;
  }

  /** Resolves once the executor's current executions have ended. */
  async idle(executor: RunExecutor): Promise<void> {
    const executions = [...this.#executing.values()];
    await Promise.all(executions.map((one) => (one.executor === executor ? one.ended : undefined)));
  }

  /**
   * Queues a run, also while it is being executed. Returns false if the run would have to wait and the queue is
   * full.
   */
  add(run: ScheduledRun): boolean {
    const { runId, owner, isStranger = false } = run;
    const mayWait = this.#mayWait(run);
    const lane = this.#lanes.get(keyOf(run)) ?? { owner, isStranger, runIds: new Set() };
    this.#lanes.set(keyOf(run), lane);
    lane.runIds.add(runId);
    this.#fill();
    if (mayWait || !this.#isWaiting(run)) return true;
    this.remove(run);
    return false;
  }

  /** Removes a run that is still queued. */
  remove(run: ScheduledRun): void {
    const lane = this.#lanes.get(keyOf(run));
    lane?.runIds.delete(run.runId);
    if (lane?.runIds.size === 0) this.#lanes.delete(keyOf(run));
  }

  #isWaiting(run: ScheduledRun): boolean {
    return this.#lanes.get(keyOf(run))?.runIds.has(run.runId) ?? false;
  }

  #mayWait(run: ScheduledRun): boolean {
    const most = this.#executor?.waiting;
    if (most === undefined) return true;
    const waiting = { all: 0, strangers: 0, own: this.#lanes.get(keyOf(run))?.runIds.size ?? 0 };
    for (const { runIds, isStranger } of this.#lanes.values()) {
      waiting.all += runIds.size;
      if (isStranger === true) waiting.strangers += runIds.size;
    }
    return mayHoldMore({ isKnown: run.isStranger !== true }, most, waiting);
  }

  #fill(): void {
    const executor = this.#executor;
    if (executor === undefined) return;
    while (this.#executing.size < executor.concurrent) {
      const next = this.#take(executor);
      if (next === undefined) return;
      this.#execute(executor, next);
    }
  }

  #execute(executor: RunExecutor, run: ScheduledRun): void {
    const { runId } = run;
    const stop = new AbortController();
    // Deferred, so that the run is in `#executing` before its execution begins.
    const ended = Promise.resolve()
      .then(() => executor.execute(runId, stop))
      .catch((error: unknown) => {
        if (isStoreUnavailable(error)) return true;
        if (!(error instanceof HolderLostError)) executor.reportFault(error, runId);
        return false;
      })
      .then((isLeft) => {
        if (isLeft === true) return this.#executeLater(run);
        this.#left.delete(runId);
        executor.forget?.(runId);
      })
      .finally(() => this.#end(run));
    this.#executing.set(runId, { stop, executor, ended });
    this.#hold(run, 1);
  }

  /** Queues the run again after a pause, under the executor in use by then. */
  #executeLater(run: ScheduledRun): void {
    const attempts = (this.#left.get(run.runId) ?? 0) + 1;
    this.#left.set(run.runId, attempts);
    setTimeout(() => void this.add(run), pauseAfter(attempts, LATER)).unref();
  }

  #end(run: ScheduledRun): void {
    this.#executing.delete(run.runId);
    this.#hold(run, -1);
    this.#fill();
  }

  #hold(run: ScheduledRun, change: 1 | -1): void {
    const key = keyOf(run);
    const held = (this.#held.get(key) ?? 0) + change;
    if (held === 0) this.#held.delete(key);
    else this.#held.set(key, held);
    if (run.isStranger === true) this.#heldByStrangers += change;
  }

  #take({ concurrent }: RunExecutor): ScheduledRun | undefined {
    for (const [key, lane] of this.#lanes) {
      const { owner, isStranger = false, runIds } = lane;
      if (!mayHoldMore({ isKnown: !isStranger }, concurrent, this.#heldBy(key))) continue;
      // A run that was resumed during its last execution waits until that has ended.
      const runId = [...runIds].find((one) => !this.#executing.has(one));
      if (runId === undefined) continue;
      this.#lanes.delete(key);
      runIds.delete(runId);
      if (runIds.size > 0) this.#lanes.set(key, lane);
      return { runId, owner, isStranger };
    }
    return undefined;
  }

  #heldBy(key: string): HeldPlaces {
    const own = this.#held.get(key) ?? 0;
    return { all: this.#executing.size, own, strangers: this.#heldByStrangers };
  }
}

/** A known owner and a stranger may have the same name. */
function keyOf({ owner, isStranger }: Pick<ScheduledRun, "owner" | "isStranger">): string {
  return isStranger === true ? `stranger ${owner}` : `known ${owner}`;
}
