/** Turns of the event loop for work that takes up most of one, such as reading a long answer. */
import { setImmediate as nextRound } from "node:timers/promises";

let last: Promise<unknown> = Promise.resolve();

/** Resolves in a turn that nobody else who waits here has: what was asked for at once is done in turn. */
export function ownTurn(): Promise<unknown> {
  last = last.then(() => nextRound());
  return last;
}
