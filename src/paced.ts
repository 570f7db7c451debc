/**
 * Long work as steps: a generator that yields wherever it could be interrupted, at most a millisecond
 * or so apart. Who drives it decides whether others have their turn in between: nobody waits while a
 * server starts, everybody does while it serves.
 */
import { setImmediate as nextRound } from "node:timers/promises";

/** Work that can be interrupted wherever it yields. */
export type Paced<T> = Generator<undefined, T, undefined>;

/** Drives work to its end. */
export type Drive = <T>(work: Paced<T>) => T | Promise<T>;

/** Does the whole of it now. */
export function atOnce<T>(work: Paced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** What others have to wait for at most, beside the step that has begun. */
export const SLICE_MS = 5;

/** How slices are measured; a test counts steps instead. */
export interface PacerOptions {
  readonly sliceMs?: number;
  readonly now?: () => number;
}

/** Does work in slices; of several, one slice of one of them a round of the event loop. */
export class Pacer {
  readonly #sliceMs: number;
  readonly #now: () => number;
  #last: Promise<void> = Promise.resolve();

  constructor({ sliceMs = SLICE_MS, now = () => performance.now() }: PacerOptions = {}) {
    this.#sliceMs = sliceMs;
    this.#now = now;
  }

  /** Does it whole, and rejects when the signal says that nobody waits. */
  async run<T>(work: Paced<T>, signal?: AbortSignal): Promise<T> {
    for (;;) {
      await this.#turn();
      signal?.throwIfAborted();
      const startedAt = this.#now();
      do {
        const step = work.next();
        if (step.done === true) return step.value;
      } while (this.#now() - startedAt < this.#sliceMs);
    }
  }

  #turn(): Promise<void> {
    this.#last = this.#last.then(() => nextRound());
    return this.#last;
  }
}

/** Does each part of a list, and may be interrupted after any. */
export function* eachPaced<T>(list: Iterable<T>, visit: (item: T) => void): Paced<void> {
  for (const item of list) {
    visit(item);
    yield;
  }
}

/** A turn for everybody else, where somebody is served. */
// biome-ignore lint/correctness/useYield: whoever drives it gives way before it begins.
export function* turn(): Paced<void> {}

/** As `list.map`. */
export function* mapPaced<T, R>(list: Iterable<T>, change: (item: T) => R): Paced<R[]> {
  const changed: R[] = [];
  for (const item of list) {
    changed.push(change(item));
    yield;
  }
  return changed;
}
