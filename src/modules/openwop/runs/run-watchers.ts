/** Those who hear that runs wait for somebody, and that they have their answers. */
import type { InterruptAnswer } from "./interrupt-answer.ts";
import type { Run } from "./run.ts";
import type { Interrupt } from "./run-state.ts";

/** One of them. */
export interface RunWatcher {
  onInterrupt(run: Run, interrupt: Interrupt): void;
  /** The run has its answer; undefined: it is cancelled. */
  onAnswer(run: Run, interrupt: Interrupt, answer: InterruptAnswer | undefined): void;
}

/** All of them. */
export class RunWatchers implements RunWatcher {
  readonly #watchers = new Set<RunWatcher>();

  add(watcher: RunWatcher): void {
    this.#watchers.add(watcher);
  }

  onInterrupt(...told: Parameters<RunWatcher["onInterrupt"]>): void {
    for (const watcher of this.#watchers) watcher.onInterrupt(...told);
  }

  onAnswer(...told: Parameters<RunWatcher["onAnswer"]>): void {
    for (const watcher of this.#watchers) watcher.onAnswer(...told);
  }
}
