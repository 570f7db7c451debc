/**
 * Sums the metrics of the workers of a daemon. The counters of an exited worker stay in the sums as last scraped, so
 * that totals never fall.
 */
import {
  AggregatorRegistry,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from "prom-client";
import { Turns } from "../base/turns.ts";

export type ProcessMetrics = readonly MetricObjectWithValues<MetricValue<string>>[];

/** Collects the metrics of each process, undefined if it does not answer; the key of a process never changes. */
type CollectMetrics = () => Promise<ReadonlyMap<unknown, ProcessMetrics | undefined>>;

export class SummedMetrics {
  readonly contentType: typeof CONTENT_TYPE = CONTENT_TYPE;
  readonly #collect: CollectMetrics;
  #last: ReadonlyMap<unknown, ProcessMetrics> = new Map();
  /** The counters of exited workers. */
  #past: ProcessMetrics = [];
  /** Serializes scrapes, so that an exited worker is added once. */
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
    // A process that does not answer keeps its last metrics.
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

/** The metric types that only grow. */
const COUNTING = ["counter", "histogram"];

function sum(all: readonly ProcessMetrics[]): Registry {
  return AggregatorRegistry.aggregate(all.map((metrics) => [...metrics]));
}
