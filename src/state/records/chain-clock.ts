/**
 * The time of the next record of a chain. It never lies before the record that it follows, though
 * the machine's clock may step back: a chain whose time runs backwards does not verify.
 * AGTP-IDENTIFIERS "Attribution Chain"
 */
import type { Chain } from "./draft.ts";

/** The chains that a clock serves. */
interface ChainClockOptions {
  /** The time of the newest record of all chains. */
  readonly newestAt: number;
  /** Drafts that are in no head yet. */
  pending(): Iterable<Chain>;
  /** Told once for each step, with its size in milliseconds. */
  onStepBack(milliseconds: number): void;
  now?(): number;
}

export class ChainClock {
  readonly #options: ChainClockOptions;
  /** No chain has a record that is later. */
  #newestAt: number;
  /** The last reading of the machine's clock. */
  #lastReading: number;
  /** Where chains are while the clock is behind one of them; empty otherwise. */
  readonly #ahead = new Map<string, number>();

  constructor(options: ChainClockOptions) {
    this.#options = options;
    this.#newestAt = options.newestAt;
    this.#lastReading = options.newestAt;
    // A step before the start is told of at the start, not with the first request.
    this.#read();
  }

  /** The time of the next record of a chain whose last one that is written is of `headAt`. */
  next(agentId: string, headAt: number | undefined): number {
    const now = this.#read();
    if (now >= this.#newestAt) {
      this.#newestAt = now;
      if (this.#ahead.size > 0) this.#ahead.clear();
      return now;
    }
    const at = Math.max(now, headAt ?? now, this.#ahead.get(agentId) ?? now);
    this.#ahead.set(agentId, at);
    return at;
  }

  /** Takes in a record that another process has written: its clock may be ahead. */
  reach(at: number): void {
    if (at > this.#newestAt) this.#newestAt = at;
  }

  #read(): number {
    const { now = Date.now, onStepBack, pending } = this.#options;
    const reading = now();
    const step = this.#lastReading - reading;
    this.#lastReading = reading;
    if (step > 0) {
      for (const { agentId, at } of pending()) this.#ahead.set(agentId, at);
      onStepBack(step);
    }
    return reading;
  }
}
