/**
 * The time of the event loop that each request takes, on whose account it goes. Measured is what the
 * processor did: a process that had to wait for its turn on a busy machine has cost nobody anything.
 * `[limits] work_ms_per_second`
 */
import type { TaskOwner } from "../../base/task-queue.ts";
import type { Rates } from "./rates.ts";

/** Slices that are shorter are nobody's business. */
const FREE_SLICE_MS = 1;
/**
 * The interval between two readings of the processor's clock, each of which takes a system call.
 */
const SAMPLE_MS = 1;

/** Measures slices, and has them paid for. */
export class LoopTime {
  readonly #rates: Rates;
  readonly #processorMs: () => number;
  #depth = 0;
  #sampledAt = Number.NEGATIVE_INFINITY;
  #sample = 0;

  constructor(rates: Rates, processorMs: () => number = readProcessor) {
    this.#rates = rates;
    this.#processorMs = processorMs;
  }

  /** Within a slice: what is done now is measured already. */
  get isMeasuring(): boolean {
    return this.#depth > 0;
  }

  /** Begins a slice; one within another is part of it. */
  begin(startedAt: number): void {
    this.#depth += 1;
    if (this.#depth === 1 && startedAt - this.#sampledAt >= SAMPLE_MS) this.#read(startedAt);
  }

  /** Ends it, and answers what it cost: 0 unless it was so long that others noticed. */
  end(startedAt: number): number {
    this.#depth -= 1;
    if (this.#depth > 0) return 0;
    const now = performance.now();
    if (now - startedAt <= FREE_SLICE_MS) return 0;
    // Time between the last reading and the slice may have been anybody's.
    const before = Math.max(0, startedAt - this.#sampledAt);
    const sample = this.#sample;
    const used = this.#read(now) - sample - before;
    const spent = Math.min(now - startedAt, used);
    return spent > FREE_SLICE_MS ? spent : 0;
  }

  /** Charges an owner for the cost of a slice. */
  charge({ key }: TaskOwner, ms: number): void {
    this.#rates.charge(key, ms, performance.now());
  }

  #read(now: number): number {
    this.#sample = this.#processorMs();
    this.#sampledAt = now;
    return this.#sample;
  }
}

function readProcessor(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
