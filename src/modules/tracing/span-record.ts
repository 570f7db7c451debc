/** A span from its start to its end, before it is written: its attributes, its clock, its place. */

/** Names a span for those that come of it. */
export interface SpanLink {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** The trace's beginning says that its id is random.   W3C Trace Context Level 2 §3.2.2.5.2 */
  readonly isRandom: boolean;
  /** `tracestate`, as it is handed on. */
  readonly state: string | undefined;
}

/** The kinds, by the protocol's numbers. */
export const SPAN_KINDS = { internal: 1, server: 2, client: 3 } as const;
export type SpanKind = (typeof SPAN_KINDS)[keyof typeof SPAN_KINDS];

export type AttributeValue = string | number;

export class SpanRecord implements SpanLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly state: string | undefined;
  readonly isSampled = true;
  readonly isRandom: boolean;
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
  handler: SpanRecord | undefined;
  /** The listener that began the span of a request, and ends it: two listen while one deployment replaces another. */
  begunBy: object | undefined;
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
    this.isRandom = parent?.isRandom === true;
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

export const ATTRIBUTES = {
  /** A method of the catalog. */
  method: "agtp.method",
  /** The template of the path; the path that was called may hold ids. */
  path: "agtp.path",
  status: "agtp.status",
  /** The code of a refusal, `error.code` in its body. */
  error: "agtp.error",
  /** The gate that refused, by its name. */
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
  /** The operator's name for the other side of a call. */
  peer: "agtp.upstream",
} as const;

/** The clock of all spans: milliseconds since the epoch, with their fractions. */
const { timeOrigin } = performance;

/** The time. */
export function now(): number {
  return timeOrigin + performance.now();
}

/** The time of a moment that `performance.now()` told. */
export function timeOf(moment: number): number {
  return timeOrigin + moment;
}

/** The span that is under way, or the request over HTTP that has none yet. */
export interface Place {
  readonly span?: SpanLink;
  readonly http?: HttpRequest;
}

/** A request over HTTP; its span is made when the first request of AGTP comes of it. */
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
