/**
 * The time of the event loop that each request takes, on whose account it goes. Measured is what the
 * processor did for the loop's own thread: neither its wait for a turn on a busy machine nor the work
 * of other threads is anybody's.
 * `[limits] work_ms_per_second`
 */
import { performance } from "node:perf_hooks";
import { type ProcessorClock, processorClock } from "../../base/processor-clock.ts";
import type { TaskOwner } from "../../base/task-queue.ts";
import type { Rates } from "./rates.ts";

/** Slices that are shorter are nobody's business. */
const FREE_SLICE_MS = 1;

/** Measures slices, and has them paid for. */
export class LoopTime {
  readonly #rates: Rates;
  readonly #clock: ProcessorClock;
  #depth = 0;
  #readAt: number;

  constructor(rates: Rates, clock: ProcessorClock = processorClock()) {
    this.#rates = rates;
    this.#clock = clock;
    this.#readAt = performance.now();
  }

  /** Within a slice: what is done now is measured already. */
  get isMeasuring(): boolean {
    return this.#depth > 0;
  }

  /** Begins a slice; one within another is part of it. */
  begin(startedAt: number): void {
    this.#depth += 1;
    if (this.#depth > 1 || startedAt - this.#readAt < this.#clock.freshMs) return;
    this.#clock.restart();
    this.#readAt = startedAt;
  }

  /** Ends it, and answers what it cost: 0 unless it was so long that others noticed. */
  end(startedAt: number): number {
    this.#depth -= 1;
    if (this.#depth > 0) return 0;
    const now = performance.now();
    if (now - startedAt <= FREE_SLICE_MS) return 0;
    const spent = Math.min(now - startedAt, this.#clock.lap(startedAt));
    this.#readAt = now;
    return spent > FREE_SLICE_MS ? spent : 0;
  }

  /** Charges an owner for the cost of a slice. */
  charge({ key }: TaskOwner, ms: number): void {
    this.#rates.charge(key, ms, performance.now());
  }
}
