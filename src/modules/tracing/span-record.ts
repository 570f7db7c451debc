/**
 * A span while it is under way: plain numbers and texts. The library's objects are made of it where
 * it is sent, which is not the thread that answers requests.
 */

/** Names a span for those that come of it. */
export interface SpanLink {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** `tracestate`, as it is handed on. */
  readonly state: string | undefined;
}

/** The kinds, by the library's numbers. */
export const SPAN_KINDS = { internal: 0, server: 1, client: 2 } as const;
export type SpanKind = (typeof SPAN_KINDS)[keyof typeof SPAN_KINDS];

/** A span that is over, ready for another thread: flat, since little else is copied as quickly. */
export type SpanRow = readonly (string | number)[];

/** The places of a row. */
export const ROW = {
  traceId: 0,
  spanId: 1,
  /** Empty where there is none. */
  state: 2,
  /** Empty where there is none. */
  parentId: 3,
  /** 1 where the parent is another server's. */
  isParentRemote: 4,
  kind: 5,
  name: 6,
  /** Milliseconds since the epoch. */
  startedAt: 7,
  endedAt: 8,
  /** 1 where it failed. */
  hasFailed: 9,
  /** From here on by twos: name, value. */
  attributes: 10,
} as const;

export class SpanRecord implements SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly state: string | undefined;
  readonly isSampled = true;
  /** Of a request: the span of its handler. */
  handler: SpanRecord | undefined;
  readonly #row: (string | number)[];

  /** `at` is its start, in milliseconds since the epoch; `trace` the id of a new trace, or the parent. */
  constructor(
    spanId: string,
    trace: string | SpanLink,
    { name, kind, at }: { readonly name: string; readonly kind: SpanKind; readonly at: number },
  ) {
    const parent = typeof trace === "string" ? undefined : trace;
    this.spanId = spanId;
    this.traceId = typeof trace === "string" ? trace : trace.traceId;
    this.state = parent?.state;
    const isRemote = parent !== undefined && !(parent instanceof SpanRecord);
    const { traceId, state = "" } = this;
    const parentId = parent?.spanId ?? "";
    this.#row = [traceId, spanId, state, parentId, isRemote ? 1 : 0, kind, name, at, at, 0];
  }

  get startedAt(): number {
    return this.#row[ROW.startedAt] as number;
  }

  set name(name: string) {
    this.#row[ROW.name] = name;
  }

  /** Sets an attribute; the last value counts. */
  set(name: string, value: string | number): void {
    this.#row.push(name, value);
  }

  /** Marks it as failed. */
  fail(): void {
    this.#row[ROW.hasFailed] = 1;
  }

  end(at: number): void {
    this.#row[ROW.endedAt] = at;
  }

  get row(): SpanRow {
    return this.#row;
  }
}
