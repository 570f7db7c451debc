/**
 * The listeners of a register's runs: those that watch all of them, and those that wait for one. A
 * change that a step has made is told once whoever took the step knows of it.
 */
import { type Ends, within } from "../base/deadline.ts";
import { recentlyUsed } from "../base/recently-used.ts";

/** Hears of every run that has become another, or is gone: then `after` is undefined. */
export type RunWatcher<Run> = (before: Run, after: Run | undefined) => void;

/** The changes of a run that are not told yet. */
interface Withheld<Run> {
  /** The number of the run's steps that are being taken. */
  steps: number;
  readonly changes: Parameters<RunWatcher<Run>>[];
}

/** Most of them never come to be: the oldest are found by the next start. */
const MISSED_RUNS = 4096;

export class RunNews<Run> {
  readonly #idOf: (run: Run) => string;
  readonly #watchers = new Set<RunWatcher<Run>>();
  /** By run, those that wait for it to stand as they want it. */
  readonly #looks = new Map<string, Set<() => void>>();
  /** By run. */
  readonly #withheld = new Map<string, Withheld<Run>>();
  /** By run that may be there, the caller that wants to know. */
  readonly #missed = recentlyUsed<(run: Run) => void>(MISSED_RUNS);

  constructor(idOf: (run: Run) => string) {
    this.#idOf = idOf;
  }

  /** Calls the watcher from now on, until the function that is answered was called. */
  watch(watcher: RunWatcher<Run>): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Calls back once a run is there of which that is not known. */
  onceThere(runId: string, listener: (run: Run) => void): void {
    this.#missed.set(runId, listener);
  }

  appeared(run: Run): void {
    const runId = this.#idOf(run);
    const listener = this.#missed.get(runId);
    this.#missed.delete(runId);
    listener?.(run);
  }

  /** Resolves when `isDone`, or when the wait is ended; looked at with every step of the run. */
  async until(runId: string, isDone: () => boolean, wait: Ends): Promise<void> {
    if (isDone() || (wait.timeoutMs !== undefined && wait.timeoutMs <= 0)) return;
    await within(wait, (signal) => this.#wait(runId, isDone, signal));
  }

  /** Tells what happens to a run only after the step, whatever it comes to. */
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

  /** A run has become another, or is gone. */
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
