/** Completions and their latencies, from the last reset on. */

/** Latencies kept for the percentiles; later ones are counted only. */
const KEPT = 1 << 20;

/** One count. */
export class Tally {
  #count = 0;
  readonly #latenciesMs = new Float64Array(KEPT);

  /** One response arrived, this long after its request left. */
  add(latencyMs: number): void {
    if (this.#count < KEPT) this.#latenciesMs[this.#count] = latencyMs;
    this.#count += 1;
  }

  /** Forgets the warm-up. */
  reset(): void {
    this.#count = 0;
  }

  get count(): number {
    return this.#count;
  }

  /** The latency that a share (0 to 1) of the responses did not exceed, in microseconds. */
  percentileMicros(share: number): number {
    const kept = this.#latenciesMs.slice(0, Math.min(this.#count, KEPT)).sort();
    return (kept[Math.min(kept.length - 1, Math.floor(kept.length * share))] ?? 0) * 1000;
  }
}
