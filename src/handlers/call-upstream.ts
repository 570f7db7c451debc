/**
 * The part of a handler whose upstream may ask back, beside its call: a way to put the question
 * before the operators, the answer once there is one, and an ear for how far the upstream is.
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
  /** The state that the call goes on from; it is kept, and nobody sees it. */
  readonly resume: JsonRecord;
  /** The time that the question waits; undefined: as long as the policy says. */
  readonly ttlMs?: number;
}

/** An operator's answer. */
export interface UpstreamAnswer {
  /** It is what the schema of the question says. */
  readonly content: JsonRecord;
  /** That of the question. */
  readonly resume: JsonRecord;
}

export interface UpstreamProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** The outcome of putting a question before the operators. */
export type AskingOutcome =
  /** `repeated`: the same call has asked before, and its question is the one that counts. */
  | { readonly kind: "asked" | "repeated"; readonly answer: AwaitedAnswer }
  /** There is no room for it, or nobody could read the call. */
  | { readonly kind: "impossible" };

/** One call, as its upstream is concerned. */
export interface CallUpstream {
  /** Undefined: nobody could come back for the answer. */
  readonly ask?: (question: UpstreamQuestion) => Promise<AskingOutcome>;
  /** Set where the call is repeated with the answer to its question. */
  readonly answer?: UpstreamAnswer;
  /** Undefined: nobody listens. */
  readonly onProgress?: (progress: UpstreamProgress) => void;
}

/** The answer of a call that waits for operators: 202, whatever the endpoint's output is. */
export class AwaitedAnswer {
  readonly body: JsonRecord;

  constructor(body: JsonRecord) {
    this.body = body;
  }
}

/** The facts of its request that a handler may have beside its call. */
export interface CallSurroundings {
  readonly upstream?: CallUpstream | undefined;
  /** `performance.now()` when the request began. */
  readonly startedAt?: number;
  /** Set for a request that another handler dispatches. */
  readonly inner?: { readonly parent: CallSurroundings } | undefined;
  /** The work that waits for it, where the server asks in an agent's name. */
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
 * The MCP servers of a deployment, as endpoints see them. Whoever has none loads nothing of MCP.
 */
export interface McpServers {
  readonly names: readonly string[];
  /** How long a call of a server's may take; undefined: there is no such server. */
  timeoutMs(server: string): number | undefined;
  /** The handler of a tool; undefined: there is no such server. */
  bind(binding: McpToolBinding, outputSchema: JsonSchema): UpstreamHandler | undefined;
}
