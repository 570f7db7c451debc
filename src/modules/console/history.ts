/** The traffic of the last hour in steps of five seconds, for plots: bounded, whoever looks on. */

/** One step: when it ended in seconds since the epoch, what came in it, and its latencies in milliseconds. */
export type HistoryPoint = readonly [
  at: number,
  requests: number,
  refused: number,
  p50: number | null,
  p99: number | null,
];

/** The source of the figures. */
export interface HistorySource {
  /** Since the start. */
  readonly last: number;
  readonly refusals: number;
  /** The durations of the last `count` requests, in milliseconds, shortest first. */
  sortedDurations(count: number): Float64Array;
}

export const STEP_S = 5;
const MAX_POINTS = 720;
/** Latencies of a step are told by so many of its requests. */
const MAX_DURATIONS = 1_000;

export class History {
  readonly #source: HistorySource;
  readonly #points: HistoryPoint[] = [];
  #requests = 0;
  #refusals = 0;

  constructor(source: HistorySource) {
    this.#source = source;
  }

  /** Ends a step. */
  step(now: number = Date.now()): void {
    const { last, refusals } = this.#source;
    const requests = last - this.#requests;
    const refused = refusals - this.#refusals;
    this.#requests = last;
    this.#refusals = refusals;
    const durations = this.#source.sortedDurations(Math.min(requests, MAX_DURATIONS));
    const at = (share: number): number | null => quantile(durations, share);
    this.#points.push([Math.round(now / 1000), requests, refused, at(0.5), at(0.99)]);
    if (this.#points.length > MAX_POINTS) this.#points.shift();
  }

  /** The steps that ended behind a moment, in seconds since the epoch. */
  points(after = 0): readonly HistoryPoint[] {
    return this.#points.filter(([at]) => at > after);
  }

  get latest(): HistoryPoint | undefined {
    return this.#points.at(-1);
  }
}

/** The value below which a share of sorted values lies, to the microsecond; null without any. */
export function quantile(sorted: Float64Array, share: number): number | null {
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return value === undefined ? null : Math.round(value * 1000) / 1000;
}
