/** Sorting as steps: a merge sort by runs, which lets others have their turn in between. */
import type { Paced } from "./paced.ts";

/** Comparisons of a step are about ten times as many. */
const RUN = 512;

/** As `list.toSorted(compare)`: equals stay in their order. */
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
