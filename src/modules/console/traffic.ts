/**
 * The requests of late, as the console shows them: a ring of facts without bodies, headers or
 * queries, and counts. It listens to the channels that metrics and traces listen to.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { concealPath } from "../../dispatch/concealment.ts";
import { CHANNELS, type RequestEnd, type RequestRefusal } from "../../dispatch/request-channels.ts";
import { History, quantile, STEP_S } from "./history.ts";
import { UpstreamHealth } from "./upstream-health.ts";

/** One request that was answered. */
export interface TrafficEntry {
  /** Counts up; a page that has seen one asks for what came later. */
  readonly number: number;
  readonly response_id: string;
  /** RFC 3339. */
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly duration_ms: number;
  readonly agent_id: string | null;
  /** Where it was refused, and with which code; null for what was answered. */
  readonly gate: string | null;
  readonly code: string | null;
}

/** The conditions of a look; each that is absent lets all pass. */
export interface TrafficFilter {
  readonly agent?: string;
  readonly method?: string;
  readonly path?: string;
  readonly status?: number;
  readonly gate?: string;
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly after?: number;
}

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

interface Fact {
  readonly number: number;
  readonly responseId: string;
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly durationMs: number;
  readonly agentId: string | undefined;
  readonly gate: string | undefined;
  readonly code: string | undefined;
}

export class Traffic {
  readonly #ring: (Fact | undefined)[] = new Array<undefined>(MAX_ENTRIES).fill(undefined);
  readonly #byStatus = new Map<number, number>();
  readonly #byGate = new Map<string, number>();
  /** How the HTTP APIs behind endpoints answer. */
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
  list(filter: TrafficFilter = {}): readonly TrafficEntry[] {
    const found: TrafficEntry[] = [];
    const oldest = Math.max(0, this.#count - MAX_ENTRIES, filter.after ?? 0);
    for (let number = this.#count; number > oldest && found.length < MAX_SHOWN; number -= 1) {
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
      path: concealPath(exchange.path, route),
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

function meets(fact: Fact, filter: TrafficFilter): boolean {
  const { agent, method, path, status, gate, since } = filter;
  return (
    (agent === undefined || fact.agentId === agent) &&
    (method === undefined || fact.method === method) &&
    (path === undefined || fact.path.startsWith(path)) &&
    (status === undefined || fact.status === status) &&
    (gate === undefined || fact.gate === gate) &&
    (since === undefined || fact.at >= since)
  );
}

function entryOf(fact: Fact): TrafficEntry {
  const { number, responseId, at, method, path, status, durationMs, agentId, gate, code } = fact;
  return {
    ...{ number, response_id: responseId, at: new Date(at).toISOString(), method, path, status },
    ...{ duration_ms: rounded(durationMs), agent_id: agentId ?? null },
    ...{ gate: gate ?? null, code: code ?? null },
  };
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
