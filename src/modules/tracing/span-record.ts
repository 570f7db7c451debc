/** A span from its start to its end, before it is encoded, with its attributes, clock and place. */

/** A reference to a span, for its children. */
export interface SpanLink {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** True if the trace's root declared its id random.   W3C Trace Context Level 2 §3.2.2.5.2 */
  readonly isRandom: boolean;
  /** The `tracestate` to pass on. */
  readonly state: string | undefined;
}

/** Span kinds, by OTLP's numbers. */
export const SPAN_KINDS = { internal: 1, server: 2, client: 3 } as const;
export type SpanKind = (typeof SPAN_KINDS)[keyof typeof SPAN_KINDS];

export type AttributeValue = string | number;

export class SpanRecord implements SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly state: string | undefined;
  readonly isSampled = true;
  readonly isRandom: boolean;
  /** Empty for the root span. */
  readonly parentId: string;
  /** True if the parent is on another server. */
  readonly isParentRemote: boolean;
  readonly kind: SpanKind;
  /** Milliseconds since the epoch, with their fractions. */
  readonly startedAt: number;
  endedAt: number;
  hasFailed = false;
  name: string;
  /** The encoded name and shared attributes; replaces `name` if set. */
  shape: Uint8Array | undefined;
  handler: SpanRecord | undefined;
  /** The listener that started a request's span and ends it; two listen while one deployment replaces another. */
  begunBy: object | undefined;
  /** Alternating names and values; undefined for most spans, which have none. */
  #attributes: AttributeValue[] | undefined;

  /** `at` is the start, in milliseconds since the epoch; `trace` is a new trace's id, or the parent. */
  constructor(
    spanId: string,
    trace: string | SpanLink,
    { name, kind, at }: { readonly name: string; readonly kind: SpanKind; readonly at: number },
  ) {
    const parent = typeof trace === "string" ? undefined : trace;
    this.spanId = spanId;
    this.traceId = typeof trace === "string" ? trace : trace.traceId;
    this.state = parent?.state;
    this.isRandom = parent?.isRandom === true;
    this.parentId = parent?.spanId ?? "";
    this.isParentRemote = parent !== undefined && !(parent instanceof SpanRecord);
    this.kind = kind;
    this.name = name;
    this.startedAt = at;
    this.endedAt = at;
  }

  /** Alternating names and values. */
  get attributes(): readonly AttributeValue[] {
    return this.#attributes ?? NONE;
  }

  /** Sets an attribute that is not in the shape; the last value counts. */
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

export const ATTRIBUTES = {
  /** A method of the catalog. */
  method: "agtp.method",
  /** The path template, since the requested path may contain ids. */
  path: "agtp.path",
  status: "agtp.status",
  /** The code of a refusal: `error.code` in its body. */
  error: "agtp.error",
  /** The name of the refusing gate. */
  gate: "agtp.gate",
  agentId: "agtp.agent_id",
  auditId: "agtp.audit_id",
  /** The tier of the endpoint: A, B or C. */
  tier: "agtp.tier",
  synthesisId: "agtp.synthesis_id",
  /** The type of a handler: a function, a process, a composition, an API, a tool. */
  handler: "agtp.handler",
  httpMethod: "http.request.method",
  httpStatus: "http.response.status_code",
  serverAddress: "server.address",
  serverPort: "server.port",
  errorType: "error.type",
  mcpMethod: "mcp.method.name",
  toolName: "gen_ai.tool.name",
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  model: "gen_ai.request.model",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  /** The operator's name for the called peer. */
  peer: "agtp.upstream",
} as const;

/** The origin of the spans' clock, in milliseconds since the epoch with fractions. */
const { timeOrigin } = performance;

/** Milliseconds since the epoch, with fractions. */
export function now(): number {
  return timeOrigin + performance.now();
}

/** Converts a time of `performance.now()` to milliseconds since the epoch. */
export function timeOf(moment: number): number {
  return timeOrigin + moment;
}

/** The current span, or the HTTP request that has none yet. */
export interface Place {
  readonly span?: SpanLink;
  readonly http?: HttpRequest;
}

/** An HTTP request; its span is created with its first AGTP request. */
export interface HttpRequest {
  readonly request: {
    readonly method?: string | undefined;
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  };
  readonly response: {
    readonly statusCode: number;
    readonly writableFinished: boolean;
    once(event: "close", listener: () => void): unknown;
  };
  readonly startedAt: number;
  span?: SpanLink;
}
