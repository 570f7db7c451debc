/**
 * The metrics of several workers as those of one daemon. What a worker counted that is gone stays in
 * the sums: as a scrape has seen it, they never fall.
 */
import {
  AggregatorRegistry,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from "prom-client";
import { Turns } from "../base/turns.ts";

export type ProcessMetrics = readonly MetricObjectWithValues<MetricValue<string>>[];

/** Asks each process for its metrics, undefined where it does not answer; a process has one key all its life. */
type CollectMetrics = () => Promise<ReadonlyMap<unknown, ProcessMetrics | undefined>>;

export class SummedMetrics {
  readonly contentType: typeof CONTENT_TYPE = CONTENT_TYPE;
  readonly #collect: CollectMetrics;
  #last: ReadonlyMap<unknown, ProcessMetrics> = new Map();
  /** The counts of workers that are gone. */
  #past: ProcessMetrics = [];
  /** One at a time: a process that is gone counts once. */
  readonly #sums = new Turns();

  constructor(collect: CollectMetrics) {
    this.#collect = collect;
  }

  async metrics(): Promise<string> {
    return (await this.#sum()).metrics();
  }

  async getMetricsAsJSON(): Promise<MetricObjectWithValues<MetricValue<string>>[]> {
    return (await this.#sum()).getMetricsAsJSON();
  }

  #sum(): Promise<Registry> {
    return this.#sums.run(() => this.#collectSum());
  }

  async #collectSum(): Promise<Registry> {
    const asked = await this.#collect();
    // One that does not answer stands as it did last.
    const now = new Map([...asked].map(([key, told]) => [key, told ?? this.#last.get(key) ?? []]));
    for (const [key, metrics] of this.#last) {
      if (now.has(key)) continue;
      const counted = metrics.filter(({ type }) => COUNTING.includes(String(type)));
      this.#past = await sum([this.#past, counted]).getMetricsAsJSON();
    }
    this.#last = now;
    return sum([...now.values(), this.#past]);
  }
}

const CONTENT_TYPE: typeof Registry.PROMETHEUS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** The types whose values only grow. */
const COUNTING = ["counter", "histogram"];

function sum(all: readonly ProcessMetrics[]): Registry {
  return AggregatorRegistry.aggregate(all.map((metrics) => [...metrics]));
}
