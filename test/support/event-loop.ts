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

/** A clock that goes on until it is stopped. */
interface LoopClock {
  readonly ms: number;
  stop(): void;
}

const TICK_MS = 10;
/** A longer time between two ticks is the machine's: nothing here could have used it. */
const LONGEST_MS = 100;

/** Starts a clock that stands still while the machine, or a long turn of the loop, keeps timers waiting. */
export function startLoopClock(): LoopClock {
  let ms = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    ms += Math.min(now - last, LONGEST_MS);
    last = now;
  }, TICK_MS);
  return {
    get ms() {
      return ms;
    },
    stop: () => clearInterval(timer),
  };
}
