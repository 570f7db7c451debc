/** Starts and ends spans, and generates their ids. */
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

  /** Starts a span within a sampled one; undefined within any other. */
  within(
    around: SpanLink | undefined,
    name: string,
    kind: SpanKind,
    at: number = now(),
  ): SpanRecord | undefined {
    if (around?.isSampled !== true) return undefined;
    return new SpanRecord(this.#ids.newSpan(), around, { name, kind, at });
  }

  /** Starts a new trace: its root span if it is sampled, otherwise only its id. */
  root(name: string, kind: SpanKind, at: number): SpanRecord | string {
    const traceId = this.#ids.newTrace();
    if (!this.#ids.isChosen) return traceId;
    return new SpanRecord(this.#ids.newSpan(), traceId, { name, kind, at });
  }

  /** A link for calls within an unsampled trace. */
  unsampled(traceId: string): SpanLink {
    return {
      traceId,
      spanId: this.#ids.newSpan(),
      isSampled: false,
      isRandom: false,
      state: undefined,
    };
  }

  /** Ends a span; `late` may give its record's id later. */
  end(span: SpanRecord, at: number = now(), late?: LateFields): void {
    span.endedAt = at;
    this.#queue.add(span, late);
  }
}

const TRACE_BYTES = 16;
const SPAN_BYTES = 8;
const POOL_BYTES = 1_024;
const WORDS = 2 ** 32;

/** Random octets and their hex digits, generated for many ids at once. */
const pool = Buffer.alloc(POOL_BYTES);
let digits = "";
let drawn = POOL_BYTES;

/**
 * Generates ids of traces and spans, and decides the sampling of new traces. The decision is made with the id, before
 * any other work, since most requests are in no sampled trace.
 */
export class SpanIds {
  readonly #bound: number;
  /** True if the last new trace is sampled. */
  isChosen = false;

  /** `ratio` is the sampled share of traces, from 0 to 1. */
  constructor(ratio: number) {
    this.#bound = ratio * WORDS;
  }

  /** Returns the id of a new trace, and sets `isChosen`. */
  newTrace(): string {
    const at = draw(TRACE_BYTES);
    // The same rule as the library's ratio sampler, so that other servers decide alike.
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

/** Takes unused random octets, in multiples of a span's id, and returns their offset. */
function draw(bytes: number): number {
  if (drawn + bytes > POOL_BYTES) {
    randomFillSync(pool);
    // An all-zero id is invalid.   W3C Trace Context §3.2.2
    for (let last = SPAN_BYTES - 1; last < POOL_BYTES; last += SPAN_BYTES) pool[last]! ||= 1;
    digits = pool.toString("hex");
    drawn = 0;
  }
  const at = drawn;
  drawn += bytes;
  return at;
}
