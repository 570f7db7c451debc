/**
 * Recent requests for the console: a ring of facts without bodies, header fields or queries, and counts. It listens to
 * the same channels as metrics and traces.
 */
import { listenTo } from "../../base/leaving.ts";
import { CHANNELS, type RequestEnd, type RequestRefusal } from "../../dispatch/observer.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import type { Operator } from "../../state/registers/operator.ts";
import type { HistoryPoint, Overview, TrafficEntry } from "./answers.ts";
import { entryOf, MAX_REQUESTS, meets, RequestRing, type TrafficFilter } from "./request-ring.ts";

/** Counts since the start of the process; latencies are absent before the first request. */
type TrafficCounts = Pick<Overview, "requests" | "by_status" | "by_gate" | "latency_ms">;

const MAX_SHOWN = 500;
/** Requests noted per 100 ms, of served and of refused ones each; further ones are only counted. */
const NOTED_AT_ONCE = 500;
const AT_ONCE_MS = 100;

export class Traffic {
  /** Identifies this numbering of requests. */
  readonly epoch: string = uuidv7();
  readonly #ring = new RequestRing();
  readonly #byStatus = new Map<number, number>();
  readonly #byGate = new Map<string, number>();
  /** The health of the HTTP APIs behind endpoints. */
  readonly upstreams: UpstreamHealth = new UpstreamHealth();
  readonly history: History;
  #refusals = 0;
  #refused: RequestRefusal | undefined;
  readonly #most: number;
  #since = 0;
  /** Requests noted since `#since`. */
  readonly #noted = { served: 0, refused: 0 };

  constructor(notedAtOnce: number = NOTED_AT_ONCE) {
    this.#most = notedAtOnce;
    this.history = new History(this);
  }

  /** Starts listening, and returns a function that stops it. */
  listen(): () => void {
    const end = listenTo({
      [CHANNELS.refusal]: (message: RequestRefusal) => {
        this.#refused = message;
      },
      [CHANNELS.end]: (message: RequestEnd) => this.#note(message),
    });
    const timer = setInterval(() => this.history.step(), STEP_S * 1000);
    timer.unref();
    return () => {
      clearInterval(timer);
      end();
    };
  }

  /** The latest request number. */
  get last(): number {
    return this.#ring.last;
  }

  /** The number of requests that a gate refused. */
  get refusals(): number {
    return this.#refusals;
  }

  /** Durations of the last `count` requests, as far as stored: in milliseconds, shortest first. */
  sortedDurations(count: number): Float64Array {
    return this.#ring.sortedDurations(count);
  }

  /** Lists matching requests, newest first, a bounded number. */
  list(filter: TrafficFilter, most: number = MAX_SHOWN): readonly TrafficEntry[] {
    const found: TrafficEntry[] = [];
    for (const fact of this.#ring.newest(filter.after)) {
      if (meets(fact, filter)) found.push(entryOf(fact));
      if (found.length === most) break;
    }
    return found;
  }

  /** Returns the request with a Response-ID, as long as it is stored. */
  find(responseId: string): TrafficEntry | undefined {
    for (const fact of this.#ring.newest()) {
      if (fact.responseId === responseId) return entryOf(fact);
    }
    return undefined;
  }

  counts(): TrafficCounts {
    return {
      requests: this.last,
      by_status: Object.fromEntries(this.#byStatus),
      by_gate: Object.fromEntries(this.#byGate),
      latency_ms: this.#latency(),
    };
  }

  #note({ exchange, status, durationMs }: RequestEnd): void {
    this.#byStatus.set(status, (this.#byStatus.get(status) ?? 0) + 1);
    if (exchange === undefined) {
      this.#ring.count(durationMs);
      return;
    }
    const refused = this.#refused?.exchange === exchange ? this.#refused.refusal : undefined;
    this.#refused = undefined;
    const gate = refused === undefined ? undefined : exchange.refusedBy;
    if (gate !== undefined) {
      this.#refusals += 1;
      this.#byGate.set(gate, (this.#byGate.get(gate) ?? 0) + 1);
    }
    const now = Date.now();
    const { route } = exchange;
    if (route !== undefined && gate === undefined) {
      this.upstreams.note(route.definition, refused?.code, now);
    }
    if (!this.#hasRoom(now, refused === undefined ? "served" : "refused")) {
      this.#ring.count(durationMs);
      return;
    }
    this.#ring.note({
      responseId: exchange.responseId,
      at: now,
      method: exchange.method,
      path: exchange.conceal(exchange.path),
      status,
      durationMs,
      agentId: exchange.caller.agentId,
      operator: nameOf(exchange.person),
      gate,
      code: refused?.code,
    });
  }

  /** False at full load, when a request is counted but not noted. */
  #hasRoom(now: number, kind: "served" | "refused"): boolean {
    if (Math.abs(now - this.#since) >= AT_ONCE_MS) {
      this.#since = now;
      this.#noted.served = 0;
      this.#noted.refused = 0;
    }
    this.#noted[kind] += 1;
    return this.#noted[kind] <= this.#most;
  }

  #latency(): TrafficCounts["latency_ms"] {
    const sorted = this.sortedDurations(MAX_REQUESTS);
    return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
  }
}

function nameOf(person: Operator | undefined): string | undefined {
  return person && (person.name ?? person.id);
}

export const STEP_S = 5;
const MAX_POINTS = 720;
/** Requests per step of which the latencies are computed. */
const MAX_DURATIONS = 1_000;

/** The traffic of the last hour in steps of five seconds, for plots; memory is bounded. */
class History {
  readonly #source: Traffic;
  readonly #points: HistoryPoint[] = [];
  #requests = 0;
  #refusals = 0;

  constructor(source: Traffic) {
    this.#source = source;
  }

  step(): void {
    const { last, refusals } = this.#source;
    const requests = last - this.#requests;
    const refused = refusals - this.#refusals;
    this.#requests = last;
    this.#refusals = refusals;
    const durations = this.#source.sortedDurations(Math.min(requests, MAX_DURATIONS));
    const at = (share: number): number | null => quantile(durations, share);
    this.#points.push([Math.round(Date.now() / 1000), requests, refused, at(0.5), at(0.99)]);
    if (this.#points.length > MAX_POINTS) this.#points.shift();
  }

  /** Returns the steps that ended after a moment, in seconds since the epoch. */
  points(after: number): readonly HistoryPoint[] {
    return this.#points.filter(([at]) => at > after);
  }

  get latest(): HistoryPoint | undefined {
    return this.#points.at(-1);
  }
}

/** A quantile of sorted values, rounded to microseconds; null without values. */
function quantile(sorted: Float64Array, share: number): number | null {
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return value === undefined ? null : Math.round(value * 1000) / 1000;
}

/** The health of one API since the start of the process. */
interface HttpHealth {
  readonly calls: number;
  readonly faults: number;
  /** Result of the last call: `failing` if the API was at fault. */
  readonly state: "answers" | "failing";
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The code of the last failure; undefined before the first. */
  readonly fault?: string;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** The health of the HTTP APIs behind endpoints, from the results of their calls. */
class UpstreamHealth {
  readonly #byOrigin = new Map<string, Mutable<HttpHealth>>();
  readonly #byEndpoint = new WeakMap<EndpointDefinition, Mutable<HttpHealth>>();

  /** Notes a call that reached its handler; `code` is the refusal's. */
  note(definition: EndpointDefinition, code: string | undefined, at: number): void {
    if (definition.handler.type !== "external_service") return;
    const health = this.#byEndpoint.get(definition) ?? this.#open(definition);
    if (health === undefined) return;
    const isFault = code?.startsWith("upstream_") === true;
    health.calls += 1;
    if (isFault) {
      health.faults += 1;
      health.fault = code;
    }
    health.state = isFault ? "failing" : "answers";
    health.at = at;
  }

  /** Undefined for an API that was not called yet. */
  of(origin: string): HttpHealth | undefined {
    return this.#byOrigin.get(origin);
  }

  /** Endpoints of one API share one entry. */
  #open(definition: EndpointDefinition): Mutable<HttpHealth> | undefined {
    const { handler } = definition;
    if (handler.type !== "external_service" || !URL.canParse(handler.url)) return undefined;
    const { origin } = new URL(handler.url);
    const health = this.#byOrigin.get(origin) ?? { calls: 0, faults: 0, state: "answers", at: 0 };
    this.#byOrigin.set(origin, health);
    this.#byEndpoint.set(definition, health);
    return health;
  }
}
