/**
 * Decides which run is executed next, and lets none be executed twice at once: as many as the
 * deployment allows, one of each owner in turn. Nobody holds more places than it leaves free, so
 * that one owner's thousand long runs keep nobody else's from being executed.
 */

import { type BackOff, pauseAfter } from "../base/back-off.ts";
import { type HeldPlaces, mayHoldMore } from "../base/fair-shares.ts";
import { HolderLostError } from "../state/holders.ts";
import { isStoreUnavailable } from "../state/store-fault.ts";

/** A run that waits to be executed. */
export interface ScheduledRun {
  readonly runId: string;
  readonly owner: string;
  /** Its owner is not known: all of those have half of the places at most. */
  readonly isStranger?: boolean;
}

export interface RunExecutor {
  /** The most at once. */
  readonly concurrent: number;
  /** The most that may wait for it; without it, any number. */
  readonly waiting?: number;
  /**
   * The value that the signal is aborted with is for the executor to understand.
   * @throws StoreUnavailableError: the run stands as it did, and is executed again after a pause
   * @throws HolderLostError: another node says what becomes of it
   */
  execute(runId: string, stop: AbortController): Promise<void>;
  /** Hears of anything else that is thrown. */
  reportFault(error: unknown, runId: string): void;
  /** Called once an execution has ended that is not for later. */
  forget?(runId: string): void;
}

/** The runs of an owner that wait. */
interface Lane extends Pick<ScheduledRun, "owner" | "isStranger"> {
  readonly runIds: Set<string>;
}

interface Execution {
  readonly stop: AbortController;
  readonly executor: RunExecutor;
  readonly ended: Promise<void>;
}

/** A store that could not be used may be usable again. */
const LATER: BackOff = { firstMs: 500, longestMs: 30_000 };

export class RunSchedule {
  /** By owner, in the order in which their turn comes. */
  readonly #lanes = new Map<string, Lane>();
  readonly #executing = new Map<string, Execution>();
  /** The number of an owner's runs that are being executed. */
  readonly #held = new Map<string, number>();
  #heldByStrangers = 0;
  /** By run that was left as it is, how often in a row. */
  readonly #left = new Map<string, number>();
  #executor: RunExecutor | undefined;

  /** Tells whether a run is being executed, or is about to be. */
  has(run: ScheduledRun): boolean {
    return this.#executing.has(run.runId) || this.#isWaiting(run);
  }

  /** Tells the execution of a run to stop; false where there is none. */
  stop(runId: string, why: unknown): boolean {
    const executing = this.#executing.get(runId);
    executing?.stop.abort(why);
    return executing !== undefined;
  }

  /** Gives runs to another from now on; what is executed already stays where it is. */
  use(executor: RunExecutor): void {
    this.#executor = executor;
    this.#fill();
  }

  /** Begins no run until there is an executor again. */
  pause(executor: RunExecutor): void {
    if (this.#executor === executor) this.#executor = undefined;
  }

  /** Resolves when an executor has nothing in its hands any more. */
  async idle(executor: RunExecutor): Promise<void> {
    const executions = [...this.#executing.values()];
    await Promise.all(executions.map((one) => (one.executor === executor ? one.ended : undefined)));
  }

  /**
   * Executes a run when its turn comes; once more, where it is being executed. False: it would
   * have to wait, and too many do.
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

  /** Takes back a run whose turn has not come. */
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
    // It is among the executions before it does anything.
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

  /** Under whichever executor there is then. */
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
      // A run that was resumed while it ended its last round waits for that end.
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

/** An owner that is known and one that is not may have one name. */
function keyOf({ owner, isStranger }: Pick<ScheduledRun, "owner" | "isStranger">): string {
  return isStranger === true ? `stranger ${owner}` : `known ${owner}`;
}
