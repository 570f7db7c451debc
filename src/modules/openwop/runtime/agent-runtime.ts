/**
 * The runtime of agents' turns: a model, a function of the operator's, or nobody. A runtime is
 * given a turn and answers with what it came to; events, tools, schemas and thresholds are not its
 * business.   OpenWOP RFC 0002 §B, RFC 0070
 */

import type { CallSurroundings } from "../../../handlers/call-upstream.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import type { Failure, Handoff } from "../agent-executor.ts";
import type { ManifestClass } from "../installed-agent.ts";

/** A tool that the agent may call. */
export interface OfferedTool {
  /** `agtp:<METHOD> <path>`, as the manifest has it. */
  readonly toolId: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/** The outcome of calling one. */
export type ToolAnswer = { readonly kind: "returned"; readonly outcome: unknown } | Failure;

/** An earlier answer to the same task, and what was wrong with it. */
export interface TurnRemark {
  readonly role: "agent" | "host";
  readonly content: string;
}

/** The run's own options for its model. */
export interface ModelOptions {
  readonly model?: string;
  readonly temperature?: number;
  readonly maxTokens?: number;
}

/** Hears a turn's reasoning, redacted and cut on its way. */
export interface ReasoningSink {
  /** A piece of a block that is still open; nothing is shown of it where pieces are not. */
  add(piece: string): Promise<void>;
  /** Ends the block; an empty one leaves no trace. */
  close(): Promise<void>;
  /** A block in one piece, behind whatever was said before. */
  say(text: string): Promise<void>;
}

export interface RuntimeTurn {
  readonly agent: {
    readonly agentId: string;
    readonly persona: string;
    readonly modelClass: ManifestClass;
  };
  /** For whom it is taken: what runtimes have few of is shared by owner. */
  readonly owner: string;
  readonly prompt: string;
  readonly task: unknown;
  readonly tools: readonly OfferedTool[];
  /** The schema that the result must satisfy. */
  readonly returnSchema: CompiledSchema | undefined;
  /** Empty in a first attempt. */
  readonly history: readonly TurnRemark[];
  readonly options: ModelOptions;
  readonly reasoning: ReasoningSink;
  /** It stands above its calls of tools, which it waits for. */
  readonly surroundings?: CallSurroundings;
  /** Aborted when the run is cancelled, and when the turn's time is over. */
  readonly signal: AbortSignal;
  callTool(toolId: string, input: unknown): Promise<ToolAnswer>;
}

/** The tokens that models charge for; keys as they stand in events. */
export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The tokens of two answers together. */
export function sumOfUsage(
  a: TokenUsage | undefined,
  b: TokenUsage | undefined,
): TokenUsage | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  };
}

export type RuntimeAnswer =
  | {
      readonly kind: "answered";
      readonly result: unknown;
      /** Reasoning that did not go to the sink. */
      readonly reasoning?: string;
      readonly decision?: unknown;
      /** As it was stated; whether it is one is for the turn to say. */
      readonly confidence?: unknown;
      readonly handoff?: Handoff;
      readonly usage?: TokenUsage;
    }
  /** It cannot be read, and is asked for once more. */
  | {
      readonly kind: "malformed";
      readonly content: string;
      readonly message: string;
      readonly usage?: TokenUsage;
    }
  | (Failure & { readonly usage?: TokenUsage });

/** Takes turns; what it throws is a fault. */
export interface AgentRuntime {
  takeTurn(turn: RuntimeTurn): Promise<RuntimeAnswer>;
  close(): Promise<void>;
}
