/** Counts responses and their latencies since the last reset. */

/** The number of latencies kept for percentiles; later ones are only counted. */
const KEPT = 1 << 20;

/** The counts of one load. */
export class Tally {
  #count = 0;
  readonly #latenciesMs = new Float64Array(KEPT);

  /** Counts a response that arrived this long after its request. */
  add(latencyMs: number): void {
    if (this.#count < KEPT) this.#latenciesMs[this.#count] = latencyMs;
    this.#count += 1;
  }

  /** Discards the warm-up. */
  reset(): void {
    this.#count = 0;
  }

  get count(): number {
    return this.#count;
  }

  /** The latency that this share (0 to 1) of the responses did not exceed, in microseconds. */
  percentileMicros(share: number): number {
    const kept = this.#latenciesMs.slice(0, Math.min(this.#count, KEPT)).sort();
    return (kept[Math.min(kept.length - 1, Math.floor(kept.length * share))] ?? 0) * 1000;
  }
}
