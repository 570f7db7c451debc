/**
 * The requests of late, as the console shows them: a ring of facts without bodies, headers or
 * queries, and counts. It listens to the channels that metrics and traces listen to.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { CHANNELS, type RequestEnd, type RequestRefusal } from "../../dispatch/request-channels.ts";
import { History, quantile, STEP_S } from "./history.ts";
import {
  entryOf,
  type Fact,
  meets,
  type TrafficEntry,
  type TrafficFilter,
} from "./traffic-entry.ts";
import { UpstreamHealth } from "./upstream-health.ts";

/** Counts since the start of the process. */
export interface TrafficCounts {
  readonly requests: number;
  readonly by_status: Readonly<Record<string, number>>;
  readonly by_gate: Readonly<Record<string, number>>;
  /** Null before the first request. */
  readonly latency_ms: { readonly p50: number | null; readonly p99: number | null };
}

const MAX_ENTRIES = 5_000;
const MAX_SHOWN = 500;

export class Traffic {
  readonly #ring: (Fact | undefined)[] = new Array<undefined>(MAX_ENTRIES).fill(undefined);
  readonly #byStatus = new Map<number, number>();
  readonly #byGate = new Map<string, number>();
  /** The HTTP APIs behind endpoints, by their answers. */
  readonly upstreams: UpstreamHealth = new UpstreamHealth();
  readonly history: History = new History(this);
  readonly #durations = new Float64Array(MAX_ENTRIES);
  #count = 0;
  #refusals = 0;
  #refused: RequestRefusal | undefined;

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
    return this.#count;
  }

  /** Requests that a gate refused. */
  get refusals(): number {
    return this.#refusals;
  }

  /** Of the last so many requests, as far as they are remembered. */
  sortedDurations(count: number): Float64Array {
    const known = Math.min(count, this.#count, MAX_ENTRIES);
    const durations = new Float64Array(known);
    for (let at = 0; at < known; at += 1) {
      durations[at] = this.#durations[(this.#count - at) % MAX_ENTRIES] ?? 0;
    }
    return durations.sort();
  }

  /** The newest first, a bounded number. */
  list(filter: TrafficFilter = {}, most: number = MAX_SHOWN): readonly TrafficEntry[] {
    const found: TrafficEntry[] = [];
    const oldest = Math.max(0, this.#count - MAX_ENTRIES, filter.after ?? 0);
    for (let number = this.#count; number > oldest && found.length < most; number -= 1) {
      const fact = this.#ring[number % MAX_ENTRIES];
      if (fact !== undefined && meets(fact, filter)) found.push(entryOf(fact));
    }
    return found;
  }

  /** The request of a Response-ID, as long as it is remembered. */
  find(responseId: string): TrafficEntry | undefined {
    const fact = this.#ring.find((one) => one?.responseId === responseId);
    return fact && entryOf(fact);
  }

  counts(): TrafficCounts {
    return {
      requests: this.#count,
      by_status: Object.fromEntries(this.#byStatus),
      by_gate: Object.fromEntries(this.#byGate),
      latency_ms: this.#latency(),
    };
  }

  #note({ exchange, status, durationMs }: RequestEnd): void {
    this.#count += 1;
    this.#byStatus.set(status, (this.#byStatus.get(status) ?? 0) + 1);
    const slot = this.#count % MAX_ENTRIES;
    this.#durations[slot] = durationMs;
    if (exchange === undefined) {
      this.#ring[slot] = undefined;
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
    this.#ring[slot] = {
      number: this.#count,
      responseId: exchange.responseId,
      at: now,
      method: exchange.method,
      path: exchange.conceal(exchange.path),
      status,
      durationMs,
      agentId: exchange.caller.agentId,
      gate,
      code: refused?.code,
    };
  }

  #latency(): TrafficCounts["latency_ms"] {
    const sorted = this.sortedDurations(MAX_ENTRIES);
    return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
  }
}
