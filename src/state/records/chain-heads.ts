/**
 * Where the chains of a process end, and the time of the next record of each. It never lies before the
 * record that it follows, though the machine's clock may step back: a chain whose time runs backwards
 * does not verify.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import type { Chain } from "./draft.ts";
import type { ChainHead } from "./record-store.ts";

/** The last record of each chain, and which of them this process has moved. */
export class ChainHeads {
  readonly #heads: Map<string, ChainHead>;
  /** Chains that this process has moved since `takeChanged`. */
  #changed = new Set<string>();

  constructor(heads: ReadonlyMap<string, ChainHead>) {
    this.#heads = new Map(heads);
  }

  /** Where all chains end. */
  get all(): ReadonlyMap<string, ChainHead> {
    return this.#heads;
  }

  /** The last record of a chain that this process knows of. */
  get(agentId: string): ChainHead | undefined {
    return this.#heads.get(agentId);
  }

  /** Takes in a record that this process has written. */
  move(agentId: string, head: ChainHead): void {
    this.#heads.set(agentId, head);
    this.#changed.add(agentId);
  }

  /** Takes in where another process has left a chain; undefined: nothing of it is kept. */
  learn(agentId: string, head: ChainHead | undefined): void {
    if (head === undefined) this.#heads.delete(agentId);
    else this.#heads.set(agentId, head);
  }

  /** The heads that were moved, or marked, since the last call. */
  takeChanged(): ReadonlyMap<string, ChainHead> {
    const changed = new Map<string, ChainHead>();
    for (const agentId of this.#changed) {
      const head = this.#heads.get(agentId);
      if (head !== undefined) changed.set(agentId, head);
    }
    this.#changed = new Set();
    return changed;
  }

  /** Marks chains that the store does not know as they are. */
  mark(agentIds: Iterable<string>): void {
    for (const agentId of agentIds) this.#changed.add(agentId);
  }
}

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

/** Reads the time of records; one for all chains of a process. */
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
