/**
 * Long work in steps: a generator that yields wherever it may be interrupted, about every
 * millisecond. The driver decides if others get turns in between: not during a start, but while the
 * server serves.
 */

import { setImmediate as nextRound } from "node:timers/promises";

/** Work that may be interrupted wherever it yields. */
export type Paced<T> = Generator<undefined, T, undefined>;

/** Runs work to its end; `TaskQueue` gives others turns in between. */
export type Drive = <T>(work: Paced<T>) => T | Promise<T>;

/** Runs all of the work now. */
export function atOnce<T>(work: Paced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** The length of a slice: long enough for progress, short enough not to delay others. */
export const SLICE_MS = 4;

/** Runs a slice, such as on somebody's account. */
type DoSlice = <T>(slice: () => T) => T;

/** Runs all of the work, and lets everything else have a round after each slice. */
export async function inSlices<T>(
  work: Paced<T>,
  doSlice: DoSlice = (slice) => slice(),
): Promise<T> {
  for (;;) {
    const step = doSlice(() => sliceOf(work));
    if (step.done === true) return step.value;
    await nextRound();
  }
}

function sliceOf<T>(work: Paced<T>): IteratorResult<undefined, T> {
  for (const from = performance.now(); ; ) {
    const step = work.next();
    if (step.done === true || performance.now() - from >= SLICE_MS) return step;
  }
}

/** Work without steps, which gives everybody else a turn. */
export function* giveWay(): Paced<void> {}

/** Like `list.filter`. */
export function* filterPaced<T, Kind extends T = T>(
  list: Iterable<T>,
  accepts: ((item: T) => item is Kind) | ((item: T) => boolean),
): Paced<Kind[]> {
  const accepted: Kind[] = [];
  for (const item of list) {
    if (accepts(item)) accepted.push(item as Kind);
    yield;
  }
  return accepted;
}

/** Like `list.find`. */
export function* findPaced<T>(
  list: Iterable<T>,
  accepts: (item: T) => boolean,
): Paced<T | undefined> {
  for (const item of list) {
    if (accepts(item)) return item;
    yield;
  }
  return undefined;
}

/** Like `list.map`. */
export function* mapPaced<T, R>(list: Iterable<T>, change: (item: T) => R): Paced<R[]> {
  const changed: R[] = [];
  for (const item of list) {
    changed.push(change(item));
    yield;
  }
  return changed;
}

/** The length of a run that is sorted in one step, with about ten times as many comparisons. */
const RUN = 512;

/** Like `list.toSorted(compare)`, which is stable. */
export function* sortPaced<T>(
  list: readonly T[],
  compare: (one: T, other: T) => number,
): Paced<readonly T[]> {
  let runs: T[][] = [];
  for (let start = 0; start < list.length; start += RUN) {
    runs.push(list.slice(start, start + RUN).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(yield* mergeRuns(runs[at] ?? [], runs[at + 1] ?? [], compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergeRuns<T>(
  one: readonly T[],
  other: readonly T[],
  compare: (one: T, other: T) => number,
): Paced<T[]> {
  const merged: T[] = [];
  let at = 0;
  for (const item of one) {
    for (; at < other.length && compare(other[at] as T, item) < 0; at += 1) {
      merged.push(other[at] as T);
      if (merged.length % RUN === 0) yield;
    }
    merged.push(item);
    if (merged.length % RUN === 0) yield;
  }
  for (; at < other.length; at += 1) merged.push(other[at] as T);
  return merged;
}
