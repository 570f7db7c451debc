/** A span from its start to its end, before it is written. */

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

/** The kinds, by the protocol's numbers. */
export const SPAN_KINDS = { internal: 1, server: 2, client: 3 } as const;
export type SpanKind = (typeof SPAN_KINDS)[keyof typeof SPAN_KINDS];

/** The values of attributes. */
export type AttributeValue = string | number;

export class SpanRecord implements SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly state: string | undefined;
  readonly isSampled = true;
  /** Empty: it is the first of its trace. */
  readonly parentId: string;
  /** The parent is another server's. */
  readonly isParentRemote: boolean;
  readonly kind: SpanKind;
  /** Milliseconds since the epoch, with their fractions. */
  readonly startedAt: number;
  endedAt: number;
  hasFailed = false;
  name: string;
  /** The octets of its name and of some attributes; `name` does not count then. */
  shape: Uint8Array | undefined;
  /** The span of a request's handler. */
  handler: SpanRecord | undefined;
  /** By twos: name, value. Empty for most: undefined. */
  #attributes: AttributeValue[] | undefined;

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
    this.parentId = parent?.spanId ?? "";
    this.isParentRemote = parent !== undefined && !(parent instanceof SpanRecord);
    this.kind = kind;
    this.name = name;
    this.startedAt = at;
    this.endedAt = at;
  }

  /** Names and values by turns. */
  get attributes(): readonly AttributeValue[] {
    return this.#attributes ?? NONE;
  }

  /** Sets an attribute that its shape does not have; the last value counts. */
  set(name: string, value: AttributeValue): void {
    this.#attributes ??= [];
    const attributes = this.#attributes;
    for (let at = 0; at < attributes.length; at += 2) {
      if (attributes[at] !== name) continue;
      attributes[at + 1] = value;
      return;
    }
    attributes.push(name, value);
  }
}

const NONE: readonly AttributeValue[] = [];
