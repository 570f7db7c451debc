/**
 * The requests of late, written down in room that was there before them. An object for each would be
 * alive for five thousand requests more, and be copied twice by the collector of garbage meanwhile,
 * with the head that its texts are pieces of: that cost a request more than all counting.
 */
import { flatText } from "../../base/flat-text.ts";
import type { Fact } from "./traffic-entry.ts";

export const MAX_REQUESTS = 5_000;
/** Characters of a Response-ID and a path; what has more is kept as a text of its own. */
const ROOM = 192;
/** In UTF-16, which keeps any text as it is. */
const ROOM_BYTES = ROOM * 2;

/** A request as it is noted, without its number, which the ring counts. */
export type NotedFact = Omit<Fact, "number">;

/** Requests by their numbers, from 1: so many of the newest as there is room for. */
export class RequestRing {
  readonly #room = Buffer.alloc(MAX_REQUESTS * ROOM_BYTES);
  /** Of both in bytes, and of the first of them in characters. */
  readonly #lengths = new Uint16Array(MAX_REQUESTS);
  readonly #idLengths = new Uint16Array(MAX_REQUESTS);
  readonly #long = slots();
  /** Undefined: it was no request. */
  readonly #methods = slots();
  readonly #agentIds = slots();
  readonly #operators = slots();
  readonly #gates = slots();
  readonly #codes = slots();
  readonly #statuses = new Uint16Array(MAX_REQUESTS);
  readonly #times = new Float64Array(MAX_REQUESTS);
  readonly #durations = new Float64Array(MAX_REQUESTS);
  readonly #names = new Names();
  #last = 0;

  /** The number of the newest. */
  get last(): number {
    return this.#last;
  }

  /** The number before the oldest one that there is still room for. */
  get forgotten(): number {
    return Math.max(0, this.#last - MAX_REQUESTS);
  }

  note(fact: NotedFact): void {
    const { responseId, path, method, agentId, operator, gate, code, durationMs } = fact;
    const slot = this.#next(durationMs);
    const text = responseId + path;
    if (text.length > ROOM) this.#long[slot] = flatText(text);
    else this.#lengths[slot] = this.#room.write(text, slot * ROOM_BYTES, "utf16le");
    this.#idLengths[slot] = responseId.length;
    this.#methods[slot] = this.#names.of(method);
    this.#agentIds[slot] = agentId && this.#names.of(agentId);
    this.#operators[slot] = operator && this.#names.of(operator);
    this.#gates[slot] = gate;
    this.#codes[slot] = code && this.#names.of(code);
    this.#statuses[slot] = fact.status;
    this.#times[slot] = fact.at;
  }

  /** Octets that were no request have a number, too. */
  noteNoRequest(durationMs: number): void {
    this.#methods[this.#next(durationMs)] = undefined;
  }

  /** Undefined for one that is forgotten, or was no request. */
  at(number: number): Fact | undefined {
    if (number <= this.forgotten || number > this.#last) return undefined;
    const slot = number % MAX_REQUESTS;
    const method = this.#methods[slot];
    if (method === undefined) return undefined;
    const start = slot * ROOM_BYTES;
    const end = start + (this.#lengths[slot] ?? 0);
    const text = this.#long[slot] ?? this.#room.toString("utf16le", start, end);
    const idLength = this.#idLengths[slot] ?? 0;
    return {
      ...{ number, responseId: text.slice(0, idLength), method, path: text.slice(idLength) },
      ...{ agentId: this.#agentIds[slot], operator: this.#operators[slot] },
      ...{ gate: this.#gates[slot], code: this.#codes[slot], status: this.#statuses[slot] ?? 0 },
      ...{ at: this.#times[slot] ?? 0, durationMs: this.#durations[slot] ?? 0 },
    };
  }

  /** Of the last so many requests, as far as they are remembered. */
  sortedDurations(count: number): Float64Array {
    const known = Math.min(count, this.#last, MAX_REQUESTS);
    const durations = new Float64Array(known);
    for (let at = 0; at < known; at += 1) {
      durations[at] = this.#durations[(this.#last - at) % MAX_REQUESTS] ?? 0;
    }
    return durations.sort();
  }

  #next(durationMs: number): number {
    this.#last += 1;
    const slot = this.#last % MAX_REQUESTS;
    this.#durations[slot] = durationMs;
    this.#long[slot] = undefined;
    return slot;
  }
}

function slots(): (string | undefined)[] {
  return new Array<undefined>(MAX_REQUESTS).fill(undefined);
}

const MAX_NAMES = 4_096;

/** Texts that come again and again, each kept once. */
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
