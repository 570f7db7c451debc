/**
 * Spreads work that may arrive in bulk, such as long bodies or many connections' requests, over
 * turns of the event loop, so that everybody else gets turns in between.
 */
import { LONG_OCTETS } from "./json-bounds.ts";

/** The number of waiting pieces that may start in a turn for each millisecond of its share. */
const PIECES_A_MS = 16;

/** Starts work within a turn's share of time; the rest waits in order. */
export class LoopTurns {
  readonly #shareMs: number;
  readonly #waiting: (() => void)[] = [];
  /** The start of this turn's first piece, by `performance.now()`. */
  #began: number | undefined;

  /** Takes the share of each turn; 0 ms lets one piece start. */
  constructor(shareMs = 0) {
    this.#shareMs = shareMs;
  }

  /** Tells whether a piece may start at `now`, of `performance.now()`, within this turn's share. */
  begin(now: number = performance.now()): boolean {
    if (this.#began !== undefined) return now - this.#began < this.#shareMs;
    this.#began = now;
    setImmediate(() => this.#next());
    return true;
  }

  /** Starts work at once or in its turn. An exception in a later turn is a fault of the process. */
  take(work: () => void): void {
    if (this.#waiting.length === 0 && this.begin()) work();
    else this.#waiting.push(work);
  }

  /** Resolves at once or in its turn. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.take(resolve));
  }

  #next(): void {
    this.#began = undefined;
    this.#beginOne();
    // In separate callbacks, so that microtasks at the end of a piece count towards the share.
    const more = Math.min(this.#waiting.length, this.#shareMs * PIECES_A_MS);
    for (let count = 0; count < more; count += 1) setImmediate(() => this.#beginOne());
  }

  #beginOne(): void {
    if (this.#waiting.length > 0 && this.begin()) this.#waiting.shift()?.();
  }
}

export const LONG_TURNS: LoopTurns = new LoopTurns();

/** Runs work on this many octets: at once for a few, otherwise in its turn. */
export function inLongTurn(octets: number, work: () => void): void {
  if (octets > LONG_OCTETS) LONG_TURNS.take(work);
  else work();
}
