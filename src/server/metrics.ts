/**
 * The optional Prometheus endpoint, and the readiness probe of load balancers. It only subscribes to diagnostics
 * channels, so the core does not depend on it. Labels come from closed sets: no caller can create a new time series.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import {
  CHANNELS,
  DROPPED_CHANNEL,
  type RequestEnd,
  type RequestRefusal,
} from "../dispatch/observer.ts";
import type { RateExcess } from "../dispatch/rates/rates.ts";
import { EXCESS_CHANNEL } from "../dispatch/rates/toll.ts";
import type { Route } from "../dispatch/routes/route.ts";
import type { NodeFigures } from "../state/node-figures.ts";
import type { SendBudget } from "./connection-limits.ts";
import { pacedResponses } from "./paced-response.ts";
import { measureNode, measureProcesses } from "./process-metrics.ts";
import { createRuntimeRegistry } from "./runtime-metrics.ts";

/** Sources of the metrics that only the server knows. */
export interface MeasuringOptions {
  connectionCount(): number;
  readonly sendBudget: SendBudget;
  /** Undefined if no other process shares the store. */
  readonly nodeFigures?: (() => NodeFigures) | undefined;
}

/** The address of the metrics endpoint, and the readiness check. */
interface MetricsPlace extends Pick<MeasuringOptions, "sendBudget"> {
  readonly host: string;
  readonly port: number;
  /** False during start and drain, and while the store's failure forbids serving. */
  isReady(): boolean | Promise<boolean>;
}

/** The endpoint and the metrics of this process. */
interface MetricsOptions extends MetricsPlace, MeasuringOptions {}

/** Metrics that are collected until closed. */
export interface Measurements {
  readonly registry: Registry;
  close(): void;
}

/** A running metrics endpoint. */
export interface Metrics {
  readonly port: number;
  close(): Promise<void>;
}

/** Scrapers are few and quick. */
const MAX_SCRAPERS = 64;
const SCRAPE_TIMEOUT_MS = 10_000;
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];
/** The endpoint label of every contract; no path equals it. */
const CONTRACTS = "contract";

/** Starts collecting. */
export function createMeasurements(options: MeasuringOptions): Measurements {
  const registry = createRuntimeRegistry();
  const delay = monitorEventLoopDelay({ resolution: 20 });
  const onEnd = createRecorder(registry);
  const { onRefusal, onExcess } = createRateCounter(registry);
  createGauges(registry, options, delay);
  if (options.nodeFigures !== undefined) measureNode(registry, options.nodeFigures);
  delay.enable();
  subscribe(CHANNELS.end, onEnd);
  subscribe(CHANNELS.refusal, onRefusal);
  subscribe(EXCESS_CHANNEL, onExcess);
  const unmeasure = [measureProcesses(registry), measureDroppedSpans(registry)];
  return {
    registry,
    close: () => {
      unsubscribe(CHANNELS.end, onEnd);
      unsubscribe(CHANNELS.refusal, onRefusal);
      unsubscribe(EXCESS_CHANNEL, onExcess);
      for (const end of unmeasure) end();
      delay.disable();
    },
  };
}

/** Serves `GET /metrics` and `GET /readyz`. Throws if the port cannot be bound. */
export async function createMetrics(options: MetricsOptions): Promise<Metrics> {
  const measurements = createMeasurements(options);
  try {
    return await serveMetrics(options, measurements);
  } catch (error) {
    measurements.close();
    throw error;
  }
}

/** The metrics of one or several processes, until closed. */
interface ServedMeasurements {
  readonly registry: Pick<Registry, "metrics" | "contentType">;
  close(): void;
}

/** Serves measurements. Throws if the port cannot be bound. */
export async function serveMetrics(
  options: MetricsPlace,
  measurements: ServedMeasurements,
): Promise<Metrics> {
  const { registry } = measurements;
  const answers = new Map<string, (response: http.ServerResponse) => Promise<void>>([
    [
      "/metrics",
      async (response) => {
        const text = await registry.metrics();
        response.writeHead(200, { "content-type": registry.contentType }).end(text);
      },
    ],
    [
      "/readyz",
      async (response) => {
        const ready = await options.isReady();
        const fields = { "content-type": "application/json", "cache-control": "no-store" };
        response.writeHead(ready ? 200 : 503, fields).end(JSON.stringify({ ready }));
      },
    ],
  ]);
  const ServerResponse = pacedResponses(options.sendBudget);
  const timeouts = { headersTimeout: SCRAPE_TIMEOUT_MS, requestTimeout: SCRAPE_TIMEOUT_MS };
  const server = http.createServer({ ServerResponse, ...timeouts }, (request, response) => {
    const answer = answers.get(request.url?.split("?")[0] ?? "");
    const isAsked = request.method === "GET" || request.method === "HEAD";
    if (!isAsked || answer === undefined) response.writeHead(404).end();
    else answer(response).catch(() => response.writeHead(500).end());
  });
  server.maxConnections = MAX_SCRAPERS;
  server.listen(options.port, options.host);
  await once(server, "listening");
  // Running out of file descriptors fails a scrape, and must not end the daemon.
  server.on("error", () => undefined);
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      measurements.close();
      server.closeAllConnections();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

function createRecorder(registry: Registry): (message: unknown) => void {
  const registers = [registry];
  const requests = new Counter({
    name: "agtp_requests_total",
    help: "Requests by method, status and endpoint template.",
    labelNames: ["method", "status", "endpoint"],
    registers,
  });
  const durations = new Histogram({
    name: "agtp_request_duration_seconds",
    help: "Time from the parsed request to its response.",
    labelNames: ["method", "endpoint"],
    buckets: DURATION_BUCKETS,
    registers,
  });
  return (message) => {
    const { exchange, status, durationMs } = message as RequestEnd;
    const { route } = exchange ?? {};
    const method = route?.method ?? (isKnownMethod(status) ? (exchange?.method ?? "") : "");
    const endpoint = endpointOf(route);
    requests.inc({ method, status, endpoint });
    durations.observe({ method, endpoint }, durationMs / 1000);
  };
}

/** Counts rate-limited requests by the limit that they exceeded. */
function createRateCounter(registry: Registry) {
  const limited = new Counter({
    name: "agtp_rate_limited_total",
    help: "Requests that were refused because there were too many of a kind.",
    labelNames: ["scope"],
    registers: [registry],
  });
  return {
    onRefusal: (message: unknown): void => {
      const { code, carried } = (message as RequestRefusal).refusal;
      const scope = carried?.["scope"];
      if (code === "rate-limited") limited.inc({ scope: typeof scope === "string" ? scope : "" });
    },
    onExcess: (message: unknown): void => {
      limited.inc({ scope: (message as RateExcess).scope });
    },
  };
}

/** Returns the endpoint label. Contract paths share one, since agents choose them and may create any number. */
function endpointOf(route: Route | undefined): string {
  return route?.tier === "C" ? CONTRACTS : (route?.path ?? "");
}

/** True for the statuses that a request without a route gets only after the method gate, so its method is known. */
function isKnownMethod(status: number): boolean {
  return status === 404 || status === 405 || status === 460 || status === 464;
}

function createGauges(
  registry: Registry,
  { connectionCount, sendBudget }: MeasuringOptions,
  delay: ReturnType<typeof monitorEventLoopDelay>,
): void {
  const registers = [registry];
  new Gauge({
    name: "agtp_open_connections",
    help: "Connections that are open now.",
    registers,
    collect() {
      this.set(connectionCount());
    },
  });
  new Gauge({
    name: "agtp_send_buffer_bytes",
    help: "Octets that wait for peers to read them.",
    registers,
    collect() {
      this.set(sendBudget.bytes);
    },
  });
  new Gauge({
    name: "agtp_event_loop_delay_seconds",
    help: "99th percentile of the event-loop delay since the last scrape.",
    // Several processes report the slowest one's.
    aggregator: "max",
    registers,
    collect() {
      this.set(Number.isNaN(delay.mean) ? 0 : delay.percentile(99) / 1e9);
      delay.reset();
    },
  });
}

/** Counts spans that the collector did not accept; returns the function that ends this. */
function measureDroppedSpans(registry: Registry): () => void {
  const dropped = new Counter({
    name: "agtp_trace_spans_dropped_total",
    help: "Spans that the collector has not taken.",
    registers: [registry],
  });
  const onDrop = (message: unknown): void => {
    dropped.inc((message as { readonly count: number }).count);
  };
  subscribe(DROPPED_CHANNEL, onDrop);
  return () => unsubscribe(DROPPED_CHANNEL, onDrop);
}
