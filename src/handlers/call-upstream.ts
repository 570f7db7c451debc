/**
 * The contract between a handler and an upstream that may ask back: a function that puts its
 * question before the operators, the answer once there is one, and a listener for progress.
 * docs/mcp-servers.md
 */
import type { JsonRecord } from "../base/json-value.ts";
import type { McpToolBinding } from "../endpoint/endpoint.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { Call, HandlerResult } from "./handler.ts";

/** A question that an upstream asks before it goes on with a call. */
export interface UpstreamQuestion {
  /** The upstream's own text, bounded. */
  readonly message: string;
  /** The schema of an answer, checked and bounded. */
  readonly schema: JsonRecord;
  /** The name that the operator has given the upstream. */
  readonly upstream: string;
  /** The state that resumes the call; it is stored with the question, and never shown. */
  readonly resume: JsonRecord;
  /** How long the question waits for an answer. Default: the policy's time. */
  readonly ttlMs?: number;
}

/** An operator's answer. */
export interface UpstreamAnswer {
  /** Valid under the question's schema. */
  readonly content: JsonRecord;
  /** The question's `resume`. */
  readonly resume: JsonRecord;
}

export interface UpstreamProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** The outcome of putting a question before the operators. */
export type AskingOutcome =
  /** `repeated`: the same call has asked before, and its first question stands. */
  | { readonly kind: "asked" | "repeated"; readonly answer: AwaitedAnswer }
  /** There is no room for the question, or no operator could read the call. */
  | { readonly kind: "impossible" };

/** A call's dealings with its upstream beside input and result. */
export interface CallUpstream {
  /** Undefined if nobody could come back for the answer. */
  readonly ask?: (question: UpstreamQuestion) => Promise<AskingOutcome>;
  /** The answer to the call's question, where the call is repeated with one. */
  readonly answer?: UpstreamAnswer;
  /** Undefined if nobody listens to progress. */
  readonly onProgress?: (progress: UpstreamProgress) => void;
}

/** The answer to a call that waits for operators: 202, whatever the endpoint's output schema. */
export class AwaitedAnswer {
  readonly body: JsonRecord;

  constructor(body: JsonRecord) {
    this.body = body;
  }
}

/** The facts of its request that a handler is given beside its call. */
export interface CallSurroundings {
  readonly upstream?: CallUpstream | undefined;
  /** `performance.now()` when the request began. */
  readonly startedAt?: number;
  /** Set for a request that a handler dispatches; `parent` is that handler's request. */
  readonly inner?: { readonly parent: CallSurroundings } | undefined;
  /** The work that waits for the request, where the server asks in an agent's name. */
  readonly waitedForBy?: CallSurroundings | undefined;
  readonly caller?: { readonly document?: { readonly name: string } | undefined };
}

/** Answers a call whose upstream may ask back. */
export type UpstreamHandler = (
  call: Call,
  surroundings?: CallSurroundings,
) => UpstreamOutcome | Promise<UpstreamOutcome>;

type UpstreamOutcome = HandlerResult | AwaitedAnswer;

/**
 * The MCP servers of a deployment, as endpoints see them. A deployment without servers loads no MCP
 * code.
 */
export interface McpServers {
  readonly names: readonly string[];
  /** The timeout of a call to the server; undefined if there is no such server. */
  timeoutMs(server: string): number | undefined;
  /** The handler of a tool; undefined if there is no such server. */
  bind(binding: McpToolBinding, outputSchema: JsonSchema): UpstreamHandler | undefined;
}
