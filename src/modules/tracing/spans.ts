/** Begins and ends spans, and gives them their ids. */
import { randomFillSync } from "node:crypto";
import type { LateFields } from "../../wire/message.ts";
import type { SpanQueue } from "./span-queue.ts";
import { now, type SpanKind, type SpanLink, SpanRecord } from "./span-record.ts";

export class Spans {
  readonly #ids: SpanIds;
  readonly #queue: SpanQueue;

  constructor(ids: SpanIds, queue: SpanQueue) {
    this.#ids = ids;
    this.#queue = queue;
  }

  /** A span of this name within a sampled one; undefined within any other. */
  within(
    around: SpanLink | undefined,
    name: string,
    kind: SpanKind,
    at: number = now(),
  ): SpanRecord | undefined {
    if (around?.isSampled !== true) return undefined;
    return new SpanRecord(this.#ids.newSpan(), around, { name, kind, at });
  }

  /** The first span of a new trace, if it is sampled; else the id of the trace alone. */
  root(name: string, kind: SpanKind, at: number): SpanRecord | string {
    const traceId = this.#ids.newTrace();
    if (!this.#ids.isChosen) return traceId;
    return new SpanRecord(this.#ids.newSpan(), traceId, { name, kind, at });
  }

  /** A name for others to follow, in a trace that is not sampled. */
  unsampled(traceId: string): SpanLink {
    return {
      traceId,
      spanId: this.#ids.newSpan(),
      isSampled: false,
      isRandom: false,
      state: undefined,
    };
  }

  /** Ends a span; the id of its record may be known later, by `late`. */
  end(span: SpanRecord, at: number = now(), late?: LateFields): void {
    span.endedAt = at;
    this.#queue.add(span, late);
  }
}

const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const POOL_BYTES = 1_024;
const WORDS = 2 ** 32;

/** Randomness is drawn, and written as digits, for many at a time. */
const pool = Buffer.alloc(POOL_BYTES);
let digits = "";
let drawn = POOL_BYTES;

/**
 * Ids of traces and spans, and the decision about traces that nobody else has decided about: it is
 * made with the id, before anything else is, since most requests are in no trace that is sent.
 */
export class SpanIds {
  readonly #bound: number;
  /** True if the trace that was made last is sampled. */
  isChosen = false;

  /** `ratio` from 0 to 1: the part of the traces that is sampled. */
  constructor(ratio: number) {
    this.#bound = ratio * WORDS;
  }

  /** The id of a new trace; `isChosen` is set. */
  newTrace(): string {
    const at = draw(TRACE_BYTES);
    // As the library's sampler by ratio has it, so that others decide likewise by the id.
    const word =
      pool.readInt32BE(at) ^
      pool.readInt32BE(at + 4) ^
      pool.readInt32BE(at + 8) ^
      pool.readInt32BE(at + 12);
    this.isChosen = word >>> 0 < this.#bound;
    return digits.slice(2 * at, 2 * (at + TRACE_BYTES));
  }

  newSpan(): string {
    const at = draw(SPAN_BYTES);
    return digits.slice(2 * at, 2 * (at + SPAN_BYTES));
  }
}

/** The place of unused randomness; takes whole spans of it. */
function draw(bytes: number): number {
  if (drawn + bytes > POOL_BYTES) {
    randomFillSync(pool);
    // An id of nothing but zeros is none.   W3C Trace Context §3.2.2
    for (let last = SPAN_BYTES - 1; last < POOL_BYTES; last += SPAN_BYTES) pool[last]! ||= 1;
    digits = pool.toString("hex");
    drawn = 0;
  }
  const at = drawn;
  drawn += bytes;
  return at;
}
