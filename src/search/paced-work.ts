/**
 * Work that takes longer than others want to wait: one piece of it at a time, and everything else
 * that the process does in between.
 */
import { setImmediate as nextRound } from "node:timers/promises";

/** Runs what pauses by itself, one after the other. */
export class PacedWork {
  #last: Promise<unknown> = Promise.resolve();

  /** Begins when what came before is done; rejects when the signal says that nobody waits. */
  run<T>(work: Generator<undefined, T>, signal: AbortSignal): Promise<T> {
    const done = this.#last.then(() => pace(work, signal));
    this.#last = done.catch(() => undefined);
    return done;
  }
}

async function pace<T>(work: Generator<undefined, T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    const step = work.next();
    if (step.done) return step.value;
    await nextRound();
  }
}
