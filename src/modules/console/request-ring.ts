/**
 * The requests of late, written down in room that was there before them. Objects would be alive for
 * five thousand requests more: collecting the garbage around them cost a request more than its log.
 */
import type { Fact } from "./traffic-entry.ts";

export const MAX_REQUESTS = 5_000;
/** Characters of all the texts of a request; one that has more is kept as a text of its own. */
const ROOM = 256;
/** In UTF-16, which keeps any text as it is. */
const ROOM_BYTES = ROOM * 2;

/** A request as it is noted, without its number, which the ring counts. */
export type NotedFact = Omit<Fact, "number">;

/** Requests by their numbers, from 1: so many of the newest as there is room for. */
export class RequestRing {
  readonly #room = Buffer.alloc(MAX_REQUESTS * ROOM_BYTES);
  /** In bytes; 0: nothing is known but how long it took. */
  readonly #lengths = new Uint16Array(MAX_REQUESTS);
  readonly #long = new Array<string | undefined>(MAX_REQUESTS).fill(undefined);
  readonly #statuses = new Uint16Array(MAX_REQUESTS);
  readonly #times = new Float64Array(MAX_REQUESTS);
  readonly #durations = new Float64Array(MAX_REQUESTS);
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
    const slot = this.#next(fact.durationMs);
    const text = textOf(fact);
    const isLong = text.length > ROOM;
    this.#lengths[slot] = isLong ? 0 : this.#room.write(text, slot * ROOM_BYTES, "utf16le");
    if (isLong) this.#long[slot] = text;
    this.#statuses[slot] = fact.status;
    this.#times[slot] = fact.at;
  }

  /** Octets that were no request have a number, too. */
  noteNoRequest(durationMs: number): void {
    this.#lengths[this.#next(durationMs)] = 0;
  }

  /** Undefined for one that is forgotten, or was no request. */
  at(number: number): Fact | undefined {
    if (number <= this.forgotten || number > this.#last) return undefined;
    const slot = number % MAX_REQUESTS;
    const start = slot * ROOM_BYTES;
    const end = start + (this.#lengths[slot] ?? 0);
    const text = this.#long[slot] ?? this.#room.toString("utf16le", start, end);
    if (text === "") return undefined;
    const status = this.#statuses[slot] ?? 0;
    const at = this.#times[slot] ?? 0;
    return { number, ...partsOf(text), status, at, durationMs: this.#durations[slot] ?? 0 };
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

type Texts = Omit<Fact, "number" | "at" | "status" | "durationMs">;

/** Path and person are last, and it is said how long the path is: they may have any character in them. */
function textOf(texts: Texts): string {
  const { responseId, method, path, agentId = "", operator = "", gate = "", code = "" } = texts;
  return `${responseId}\n${method}\n${agentId}\n${gate}\n${code}\n${path.length}\n${path}${operator}`;
}

function partsOf(text: string): Texts {
  const [responseId = "", method = "", agentId, gate, code, length, ...last] = text.split("\n");
  const rest = last.join("\n");
  const end = Number(length);
  return {
    ...{ responseId, method, path: rest.slice(0, end), operator: rest.slice(end) || undefined },
    ...{ agentId: agentId || undefined, gate: gate || undefined, code: code || undefined },
  };
}
