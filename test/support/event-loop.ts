/** How often others have their turn while something is done. */

import { cpuMs } from "./cpu-time.ts";

/** Counts the turns of the event loop until it is stopped. */
interface TurnCount {
  readonly turns: number;
  stop(): void;
}

/** Counts from now on. */
export function countTurns(): TurnCount {
  let turns = 0;
  let isOver = false;
  const next = (): void => {
    turns += 1;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  return {
    get turns() {
      return turns;
    },
    stop: () => {
      isOver = true;
    },
  };
}

/** The processor's time that the longest turn of the loop takes while something is done, in milliseconds. */
export async function longestTurnOf(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  let since = cpuMs();
  const next = (): void => {
    const now = cpuMs();
    longest = Math.max(longest, now - since);
    since = now;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  await work();
  isOver = true;
  return longest;
}
