/**
 * Recent requests in a preallocated ring. An object per request would live for five thousand further requests, be
 * copied twice by the garbage collector, and retain the request head that its strings are slices of; that cost a
 * request more than all counting.
 */
import { flatText } from "../../base/kept-text.ts";
import type { TrafficEntry } from "./answers.ts";

export const MAX_REQUESTS = 5_000;
/** Characters per slot for a Response-ID and a path; a longer pair is kept as a separate string. */
const ROOM = 192;
/** In UTF-16, which stores any string unchanged. */
const ROOM_BYTES = ROOM * 2;

/** A request to store, without its number, which the ring assigns. */
export type NotedFact = Omit<Fact, "number">;

/** Requests by number, from 1: each is counted, and a bounded number of the noted ones is kept. */
export class RequestRing {
  readonly #room = Buffer.alloc(MAX_REQUESTS * ROOM_BYTES);
  /** Length of both texts in bytes; `#idLengths` has that of the first in characters. */
  readonly #lengths = new Uint16Array(MAX_REQUESTS);
  readonly #idLengths = new Uint16Array(MAX_REQUESTS);
  readonly #long = slots();
  readonly #numbers = new Float64Array(MAX_REQUESTS);
  readonly #methods = slots();
  readonly #agentIds = slots();
  readonly #operators = slots();
  readonly #gates = slots();
  readonly #codes = slots();
  readonly #statuses = new Uint16Array(MAX_REQUESTS);
  readonly #times = new Float64Array(MAX_REQUESTS);
  readonly #taken = new Float64Array(MAX_REQUESTS);
  /** Durations of the last counted requests, by number. */
  readonly #durations = new Float64Array(MAX_REQUESTS);
  readonly #names = new Names();
  #last = 0;
  #noted = 0;

  /** The latest number. */
  get last(): number {
    return this.#last;
  }

  /** Counts a request without storing it, as for octets that are not a request. */
  count(durationMs: number): void {
    this.#last += 1;
    this.#durations[this.#last % MAX_REQUESTS] = durationMs;
  }

  /** Counts and stores a request. */
  note(fact: NotedFact): void {
    const { responseId, path, method, agentId, operator, gate, code, durationMs } = fact;
    this.count(durationMs);
    const slot = this.#noted % MAX_REQUESTS;
    this.#noted += 1;
    const text = responseId + path;
    const isLong = text.length > ROOM;
    this.#long[slot] = isLong ? flatText(text) : undefined;
    if (!isLong) this.#lengths[slot] = this.#room.write(text, slot * ROOM_BYTES, "utf16le");
    this.#idLengths[slot] = responseId.length;
    this.#numbers[slot] = this.#last;
    this.#methods[slot] = this.#names.of(method);
    this.#agentIds[slot] = agentId && this.#names.of(agentId);
    this.#operators[slot] = operator && this.#names.of(operator);
    this.#gates[slot] = gate;
    this.#codes[slot] = code && this.#names.of(code);
    this.#statuses[slot] = fact.status;
    this.#times[slot] = fact.at;
    this.#taken[slot] = durationMs;
  }

  /** Lists the stored requests with a number above `after`, newest first. */
  *newest(after = 0): Generator<Fact, void> {
    const oldest = Math.max(0, this.#noted - MAX_REQUESTS);
    for (let at = this.#noted - 1; at >= oldest; at -= 1) {
      const fact = this.#factIn(at % MAX_REQUESTS);
      if (fact.number <= after) return;
      yield fact;
    }
  }

  #factIn(slot: number): Fact {
    const start = slot * ROOM_BYTES;
    const end = start + (this.#lengths[slot] ?? 0);
    const text = this.#long[slot] ?? this.#room.toString("utf16le", start, end);
    const idLength = this.#idLengths[slot] ?? 0;
    return {
      ...{ number: this.#numbers[slot] ?? 0, method: this.#methods[slot] ?? "" },
      ...{ responseId: text.slice(0, idLength), path: text.slice(idLength) },
      ...{ agentId: this.#agentIds[slot], operator: this.#operators[slot] },
      ...{ gate: this.#gates[slot], code: this.#codes[slot], status: this.#statuses[slot] ?? 0 },
      ...{ at: this.#times[slot] ?? 0, durationMs: this.#taken[slot] ?? 0 },
    };
  }

  /** Returns the durations of the last `count` requests, as far as stored, in ascending order. */
  sortedDurations(count: number): Float64Array {
    const known = Math.min(count, this.#last, MAX_REQUESTS);
    const durations = new Float64Array(known);
    for (let at = 0; at < known; at += 1) {
      durations[at] = this.#durations[(this.#last - at) % MAX_REQUESTS] ?? 0;
    }
    return durations.sort();
  }
}

function slots(): (string | undefined)[] {
  return new Array<undefined>(MAX_REQUESTS).fill(undefined);
}

const MAX_NAMES = 4_096;

/** Interned strings: each recurring text is kept once. */
class Names {
  readonly #known = new Map<string, string>();

  of(text: string): string {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    if (this.#known.size >= MAX_NAMES) this.#known.clear();
    const kept = flatText(text);
    this.#known.set(kept, kept);
    return kept;
  }
}

/** The conditions of a query; absent ones match everything. */
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

interface Fact {
  readonly number: number;
  readonly responseId: string;
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly durationMs: number;
  readonly agentId: string | undefined;
  readonly operator: string | undefined;
  readonly gate: string | undefined;
  readonly code: string | undefined;
}

/** True if a request meets the conditions. */
export function meets(fact: Fact, filter: TrafficFilter): boolean {
  const { agent, method, path, status, gate, since } = filter;
  return (
    (agent === undefined || fact.agentId === agent) &&
    (method === undefined || isSame(fact.method, method)) &&
    (path === undefined || fact.path.startsWith(path)) &&
    (status === undefined || fact.status === status) &&
    (gate === undefined || isSame(fact.gate, gate)) &&
    (since === undefined || fact.at >= since)
  );
}

/** Compares names case-insensitively. */
function isSame(name: string | undefined, written: string): boolean {
  return name?.toLowerCase() === written.toLowerCase();
}

/** A request as the API shows it. */
export function entryOf(fact: Fact): TrafficEntry {
  const { number, responseId, at, method, path, status, durationMs, agentId, ...more } = fact;
  const { operator, gate, code } = more;
  return {
    ...{ number, response_id: responseId, at: new Date(at).toISOString(), method, path, status },
    ...{ duration_ms: rounded(durationMs), agent_id: agentId ?? null },
    operator: operator ?? null,
    ...{ gate: gate ?? null, code: code ?? null },
  };
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
