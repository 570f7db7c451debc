/**
 * The requests of late, as the console shows them: a ring of facts without bodies, headers or
 * queries, and counts. It listens to the channels that metrics and traces listen to.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { CHANNELS, type RequestEnd, type RequestRefusal } from "../../dispatch/request-channels.ts";
import type { Operator } from "../../state/registers/operator.ts";
import { History, quantile, STEP_S } from "./history.ts";
import { MAX_REQUESTS, RequestRing } from "./request-ring.ts";
import { entryOf, meets, type TrafficEntry, type TrafficFilter } from "./traffic-entry.ts";
import { UpstreamHealth } from "./upstream-health.ts";

/** Counts since the start of the process. */
export interface TrafficCounts {
  readonly requests: number;
  readonly by_status: Readonly<Record<string, number>>;
  readonly by_gate: Readonly<Record<string, number>>;
  /** Null before the first request. */
  readonly latency_ms: { readonly p50: number | null; readonly p99: number | null };
}

const MAX_SHOWN = 500;
/** So many in a tenth of a second are noted, of those served and of those refused; all are counted. */
const NOTED_AT_ONCE = 500;
const AT_ONCE_MS = 100;

export class Traffic {
  readonly #ring = new RequestRing();
  readonly #byStatus = new Map<number, number>();
  readonly #byGate = new Map<string, number>();
  /** The HTTP APIs behind endpoints, by their answers. */
  readonly upstreams: UpstreamHealth = new UpstreamHealth();
  readonly history: History = new History(this);
  #refusals = 0;
  #refused: RequestRefusal | undefined;
  readonly #most: number;
  #since = 0;
  /** Noted since then. */
  readonly #noted = { served: 0, refused: 0 };

  constructor(notedAtOnce: number = NOTED_AT_ONCE) {
    this.#most = notedAtOnce;
  }

  /** Listens until it is told to stop. */
  listen(): () => void {
    const onRefusal = (message: unknown): void => {
      this.#refused = message as RequestRefusal;
    };
    const onEnd = (message: unknown): void => this.#note(message as RequestEnd);
    subscribe(CHANNELS.refusal, onRefusal);
    subscribe(CHANNELS.end, onEnd);
    const timer = setInterval(() => this.history.step(), STEP_S * 1000);
    timer.unref();
    return () => {
      clearInterval(timer);
      unsubscribe(CHANNELS.refusal, onRefusal);
      unsubscribe(CHANNELS.end, onEnd);
    };
  }

  /** The number of the newest. */
  get last(): number {
    return this.#ring.last;
  }

  /** Requests that a gate refused. */
  get refusals(): number {
    return this.#refusals;
  }

  /** The durations of the last `count` requests, as far as they are remembered. */
  sortedDurations(count: number): Float64Array {
    return this.#ring.sortedDurations(count);
  }

  /** The newest first, a bounded number. */
  list(filter: TrafficFilter = {}, most: number = MAX_SHOWN): readonly TrafficEntry[] {
    const found: TrafficEntry[] = [];
    for (const fact of this.#ring.newest(filter.after)) {
      if (meets(fact, filter)) found.push(entryOf(fact));
      if (found.length === most) break;
    }
    return found;
  }

  /** The request of a Response-ID, as long as it is remembered. */
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

  /** At full load a request is counted, and not written down. */
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
