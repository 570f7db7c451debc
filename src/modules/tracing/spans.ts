/** Begins and ends spans. */
import type { LateFields } from "../../wire/message.ts";
import { now } from "./clock.ts";
import type { SpanIds } from "./span-ids.ts";
import type { SpanQueue } from "./span-queue.ts";
import { type SpanKind, type SpanLink, SpanRecord } from "./span-record.ts";

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
    return { traceId, spanId: this.#ids.newSpan(), isSampled: false, state: undefined };
  }

  /** Ends a span; the id of its record may be known later, by `late`. */
  end(span: SpanRecord, at: number = now(), late?: LateFields): void {
    span.endedAt = at;
    this.#queue.add(span, late);
  }
}
