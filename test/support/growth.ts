/** How the work for what others send grows with its size: in proportion, or faster. */

import { cpuMs } from "./cpu-time.ts";

const TIMES = 8;
/** A shorter time says nothing. */
const LEAST_MS = 2;
/** No chance makes so much of a shorter time. */
const LONG_MS = 300;

/**
 * The growth of the time that work takes where there is eight times as much of it, by each doubling: 1 where it is
 * in proportion, 2 where it is quadratic.
 */
export async function growthOf(work: (size: number) => unknown, size: number): Promise<number> {
  const least = await quickest(work, size);
  const most = await quickest(work, size * TIMES);
  return Math.log2(Math.max(most, LEAST_MS) / Math.max(least, LEAST_MS)) / Math.log2(TIMES);
}

/** Work beyond this growth is not in proportion, however busy the machine. */
export const NEARLY_LINEAR = 1.5;

async function quickest(work: (size: number) => unknown, size: number): Promise<number> {
  let quickest = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 3 && (turn === 0 || quickest < LONG_MS); turn += 1) {
    const started = cpuMs();
    await work(size);
    quickest = Math.min(quickest, cpuMs() - started);
  }
  return quickest;
}
