/**
 * Notifies listeners of changes to runs: watchers of all runs, and waiters for one. A change made by a step is
 * announced only after the step has returned to its caller.
 */
import { type Ends, within } from "../base/deadline.ts";
import { recentlyUsed } from "../base/recently-used.ts";

/** Called for every changed run, and for a deleted one with `after` undefined. */
export type RunWatcher<Run> = (before: Run, after: Run | undefined) => void;

/** The changes of a run that are not announced yet. */
interface Withheld<Run> {
  /** The steps of the run in progress. */
  steps: number;
  readonly changes: Parameters<RunWatcher<Run>>[];
}

/** Most of these runs never appear; those evicted here are found at the next start. */
const MISSED_RUNS = 4096;

export class RunNews<Run> {
  readonly #idOf: (run: Run) => string;
  readonly #watchers = new Set<RunWatcher<Run>>();
  /** Waiters by run id. */
  readonly #looks = new Map<string, Set<() => void>>();
  /** By run id. */
  readonly #withheld = new Map<string, Withheld<Run>>();
  /** Listeners for runs that may yet appear, by run id. */
  readonly #missed = recentlyUsed<(run: Run) => void>(MISSED_RUNS);

  constructor(idOf: (run: Run) => string) {
    this.#idOf = idOf;
  }

  /** Calls the watcher on every change, until the returned function is called. */
  watch(watcher: RunWatcher<Run>): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Calls back once the run appears, where it is unknown if it was stored. */
  onceThere(runId: string, listener: (run: Run) => void): void {
    this.#missed.set(runId, listener);
  }

  appeared(run: Run): void {
    const runId = this.#idOf(run);
    const listener = this.#missed.get(runId);
    this.#missed.delete(runId);
    listener?.(run);
  }

  /** Resolves once `isDone` returns true or the wait ends; checked after each step of the run. */
  async until(runId: string, isDone: () => boolean, wait: Ends): Promise<void> {
    if (isDone() || (wait.timeoutMs !== undefined && wait.timeoutMs <= 0)) return;
    await within(wait, (signal) => this.#wait(runId, isDone, signal));
  }

  /** Runs a step and withholds its changes until it has settled. */
  async afterStep<Taken>(runId: string, step: () => Promise<Taken>): Promise<Taken> {
    const withheld = this.#withheld.get(runId) ?? { steps: 0, changes: [] };
    this.#withheld.set(runId, withheld);
    withheld.steps += 1;
    try {
      return await step();
    } finally {
      withheld.steps -= 1;
      if (withheld.steps === 0) this.#withheld.delete(runId);
      for (const change of withheld.changes.splice(0)) this.#tell(...change);
    }
  }

  /** Announces a changed or deleted run, or withholds it during a step. */
  changed(before: Run, after: Run | undefined): void {
    const withheld = this.#withheld.get(this.#idOf(before));
    if (withheld === undefined) this.#tell(before, after);
    else withheld.changes.push([before, after]);
  }

  #tell(before: Run, after: Run | undefined): void {
    for (const watcher of this.#watchers) watcher(before, after);
    for (const look of [...(this.#looks.get(this.#idOf(before)) ?? [])]) look();
  }

  #wait(runId: string, isDone: () => boolean, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const looks = this.#looks.get(runId) ?? new Set();
      const leave = (): void => {
        signal.removeEventListener("abort", leave);
        looks.delete(look);
        if (looks.size === 0 && this.#looks.get(runId) === looks) this.#looks.delete(runId);
        resolve();
      };
      const look = (): void => {
        if (isDone()) leave();
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#looks.set(runId, looks.add(look));
    });
  }
}
