/** How the work for what others send grows with its size: in proportion, or faster. */

import { cpuMs } from "./cpu-time.ts";

const TIMES = 8;
/** A shorter time says nothing. */
const LEAST_MS = 2;
/** No chance makes so much of a shorter time. */
const LONG_MS = 600;
/** Turns that are taken however well the first ones went. */
const TURNS = 3;
/** Turns beyond which growth is no chance. */
const MOST_TURNS = 12;

/** Work beyond this growth is not in proportion, however busy the machine. */
export const NEARLY_LINEAR = 1.5;

/**
 * The growth of the time that work takes where there is eight times as much of it, by each doubling: 1 where it is
 * in proportion, 2 where it is quadratic. Eight small pieces of work stand beside each large one, so that both have
 * their share of collected garbage; their quickest turns are compared, until they are below what is `wanted`.
 */
export async function growthOf(
  work: (size: number) => unknown,
  size: number,
  wanted: number = NEARLY_LINEAR,
): Promise<number> {
  let few = Number.POSITIVE_INFINITY;
  let many = Number.POSITIVE_INFINITY;
  for (let turn = 1; ; turn += 1) {
    few = Math.min(few, await timeOf(TIMES, work, size));
    many = Math.min(many, await timeOf(1, work, TIMES * size));
    const growth =
      1 + Math.log2(Math.max(many, LEAST_MS) / Math.max(few, LEAST_MS)) / Math.log2(TIMES);
    const isPlain = growth < wanted || turn === MOST_TURNS || many > LONG_MS;
    if (isPlain && turn >= TURNS) return growth;
  }
}

async function timeOf(
  turns: number,
  work: (size: number) => unknown,
  size: number,
): Promise<number> {
  const started = cpuMs();
  for (let turn = 0; turn < turns; turn += 1) await work(size);
  return cpuMs() - started;
}
