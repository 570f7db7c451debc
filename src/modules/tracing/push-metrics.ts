/** Pushes the metrics of `/metrics` to the collector of traces, every 15 seconds and at the end. */
import { ValueType } from "@opentelemetry/api";
import { createOtlpHttpExportDelegate } from "@opentelemetry/otlp-exporter-base/node-http";
import {
  MetricsExporterMetricsHelper,
  ProtobufMetricsSerializer,
} from "@opentelemetry/otlp-transformer";
import { type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import type { Registry } from "prom-client";
import { VERSION } from "../../base/version.ts";
import { exporterOptions } from "./collector-agent.ts";
import {
  collectorAddress,
  LAST_SENDING_MS,
  pushesMetrics,
  serviceResource,
  type TracingSections,
} from "./config.ts";

/** Pushed metrics, until they are closed. */
export interface PushedMetrics {
  /** Redirects later pushes to the new configuration's collector; the old collector gets a last push. */
  follow(sections: PushingSections): void;
  /** Pushes a last time, within a bound. Never rejects. */
  close(): Promise<void>;
}

type PushingSections = Pick<TracingSections, "tracing" | "server">;

const INTERVAL_MS = 15_000;
const TIMEOUT_MS = 5_000;
/** The component's name within the library. */
const COMPONENT = "otlp_http_metric_exporter";

/** Starts pushing; `untilMs` bounds the last push. */
export function pushMetrics(
  sections: PushingSections,
  registry: Pick<Registry, "getMetricsAsJSON">,
  untilMs: number,
): PushedMetrics {
  // Counts start here for every collector; with a later start, earlier counts would be added twice.
  const since = hrTime(Date.now());
  const open = (to: PushingSections): PeriodicExportingMetricReader => {
    const resource = resourceFromAttributes(serviceResource(to));
    const reader = openReader(to);
    reader.setMetricProducer(producerOf(registry, resource, since));
    return reader;
  };
  const end = (reader: PeriodicExportingMetricReader): Promise<void> =>
    reader.shutdown({ timeoutMillis: Math.min(untilMs, LAST_SENDING_MS) }).catch(() => undefined);
  let current = open(sections);
  return {
    follow: (other) => {
      if (!pushesMetrics(other.tracing)) return;
      try {
        const next = open(other);
        void end(current);
        current = next;
      } catch {
        // The certificates have vanished since the configuration was checked, so pushes still go to the old collector.
      }
    },
    close: () => end(current),
  };
}

function openReader({ tracing }: PushingSections): PeriodicExportingMetricReader {
  return new PeriodicExportingMetricReader({
    exporter: createOtlpHttpExportDelegate(
      exporterOptions(collectorAddress(tracing, "/v1/metrics")),
      ProtobufMetricsSerializer,
      COMPONENT,
      MetricsExporterMetricsHelper,
      undefined,
    ),
    exportIntervalMillis: INTERVAL_MS,
    exportTimeoutMillis: TIMEOUT_MS,
  });
}

function producerOf(
  registry: Pick<Registry, "getMetricsAsJSON">,
  resource: Resource,
  since: [number, number],
): MetricProducer {
  return {
    async collect(): Promise<CollectionResult> {
      const read = (await registry.getMetricsAsJSON()) as unknown as readonly PromMetric[];
      const span = { startTime: since, endTime: hrTime(Date.now()) };
      const metrics = read.map((metric) => dataOf(metric, span));
      const scope = { name: "agtpd", version: VERSION };
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
    },
  };
}

type Span = Pick<MetricData["dataPoints"][number], "startTime" | "endTime">;

function dataOf(metric: PromMetric, span: Span): MetricData {
  const { name, help: description, type } = metric;
  const unit = name.endsWith("_seconds") ? "s" : name.endsWith("_bytes") ? "By" : "";
  const descriptor = { name, description, unit, valueType: ValueType.DOUBLE };
  const aggregationTemporality = AggregationTemporality.CUMULATIVE;
  if (type === "histogram") {
    const dataPoints = readHistogram(metric).map((point) => ({ ...span, ...point }));
    const dataPointType = DataPointType.HISTOGRAM;
    return { descriptor, aggregationTemporality, dataPointType, dataPoints };
  }
  const dataPoints = readPoints(metric).map((point) => ({ ...span, ...point }));
  if (type === "gauge") {
    return { descriptor, aggregationTemporality, dataPointType: DataPointType.GAUGE, dataPoints };
  }
  const dataPointType = DataPointType.SUM;
  return { descriptor, aggregationTemporality, dataPointType, isMonotonic: true, dataPoints };
}

/** Seconds and nanoseconds, the library's form of a time. */
function hrTime(ms: number): [number, number] {
  return [Math.trunc(ms / 1000), (ms % 1000) * 1_000_000];
}

interface PromMetric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly PromValue[];
}

interface PromValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly metricName?: string;
}

type Attributes = Readonly<Record<string, string>>;

/** A data point of a counter or a gauge. */
interface Point {
  readonly attributes: Attributes;
  readonly value: number;
}

/** A data point of a histogram; each count is of one bucket only. */
interface HistogramPoint {
  readonly attributes: Attributes;
  readonly value: {
    readonly count: number;
    readonly sum: number;
    readonly buckets: { readonly boundaries: number[]; readonly counts: number[] };
  };
}

function readPoints({ values }: PromMetric): readonly Point[] {
  return values.map(({ value, labels }) => ({ attributes: texts(labels), value }));
}

interface Gathered {
  readonly attributes: Attributes;
  readonly cumulative: [bound: number, count: number][];
  count: number;
  sum: number;
}

/** Reads a histogram, whose buckets are cumulative in Prometheus. */
function readHistogram({ name, values }: PromMetric): readonly HistogramPoint[] {
  const gathered = new Map<string, Gathered>();
  for (const { value, labels, metricName } of values) {
    const { le, ...rest } = labels;
    const attributes = texts(rest);
    const key = JSON.stringify(attributes);
    const one = gathered.get(key) ?? { attributes, cumulative: [], count: 0, sum: 0 };
    gathered.set(key, one);
    if (metricName === `${name}_sum`) one.sum = value;
    else if (metricName === `${name}_count`) one.count = value;
    else if (le !== "+Inf") one.cumulative.push([Number(le), value]);
  }
  return [...gathered.values()].map(({ attributes, cumulative, count, sum }) => {
    const sorted = cumulative.toSorted(([one], [other]) => one - other);
    const below = [0, ...sorted.map(([, value]) => value)];
    const counts = [...sorted.map(([, value]) => value), count].map(
      (value, at) => value - (below[at] ?? 0),
    );
    const boundaries = sorted.map(([bound]) => bound);
    return { attributes, value: { count, sum, buckets: { boundaries, counts } } };
  });
}

function texts(labels: Readonly<Record<string, string | number>>): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]));
}
