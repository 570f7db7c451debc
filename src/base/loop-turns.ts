/**
 * Work of which much may come at once, such as long bodies or the requests of many connections: so much of it is
 * begun in a turn of the loop, and everybody else has their turn in between.
 */
import { LONG_OCTETS } from "./json-bounds.ts";

/** So many pieces for each millisecond of a share begin in a turn, those that come in it beside. */
const PIECES_A_MS = 16;

/** Lets work begin in a turn of the loop as long as its share lasts; the rest waits in its order. */
export class LoopTurns {
  readonly #shareMs: number;
  readonly #waiting: (() => void)[] = [];
  /** When the first of this turn began, as of `performance.now()`. */
  #began: number | undefined;

  /** A share of 0 ms lets one piece begin in a turn. */
  constructor(shareMs = 0) {
    this.#shareMs = shareMs;
  }

  /** True: a piece may begin now, as of `performance.now()`, and takes of the share of this turn. */
  begin(now: number = performance.now()): boolean {
    if (this.#began !== undefined) return now - this.#began < this.#shareMs;
    this.#began = now;
    setImmediate(() => this.#next());
    return true;
  }

  /** Begins at once, or when its turn comes. What it throws then is a fault of the process. */
  take(work: () => void): void {
    if (this.#waiting.length === 0 && this.begin()) work();
    else this.#waiting.push(work);
  }

  /** Resolves at once, or when its turn comes. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.take(resolve));
  }

  #next(): void {
    this.#began = undefined;
    this.#beginOne();
    // In callbacks of their own: work that a piece leaves for the end of its callback is of the share as well.
    const more = Math.min(this.#waiting.length, this.#shareMs * PIECES_A_MS);
    for (let count = 0; count < more; count += 1) setImmediate(() => this.#beginOne());
  }

  #beginOne(): void {
    if (this.#waiting.length > 0 && this.begin()) this.#waiting.shift()?.();
  }
}

export const LONG_TURNS: LoopTurns = new LoopTurns();

/** Does what is made of so many octets: at once where they are few, else when its turn comes. */
export function inLongTurn(octets: number, work: () => void): void {
  if (octets > LONG_OCTETS) LONG_TURNS.take(work);
  else work();
}
