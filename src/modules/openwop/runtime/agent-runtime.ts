/**
 * The interface of runtimes, which take agents' turns: a model, an operator's function, or a deterministic stand-in. A
 * runtime maps a turn to an answer; events, tool authorization, schemas and thresholds are handled outside.   OpenWOP
 * RFC 0002 §B, RFC 0070
 */

import type { CallSurroundings } from "../../../handlers/call-upstream.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import type { Failure, Handoff } from "../agent-executor.ts";
import type { ManifestClass } from "../installed-agent.ts";

/** A tool that the agent may call. */
export interface OfferedTool {
  /** `agtp:<METHOD> <path>`, as in the manifest. */
  readonly toolId: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
}

/** The outcome of a tool call. */
export type ToolAnswer = { readonly kind: "returned"; readonly outcome: unknown } | Failure;

/** A message of the retry history: an earlier answer, or the host's objection. */
export interface TurnRemark {
  readonly role: "agent" | "host";
  readonly content: string;
}

/** The model options of a run. */
export interface ModelOptions {
  readonly model?: string;
  readonly temperature?: number;
  readonly maxTokens?: number;
}

/** Receives a turn's reasoning, which it redacts and truncates. */
export interface ReasoningSink {
  /** Appends a piece to the open block; shown at once only where the host streams. */
  add(piece: string): Promise<void>;
  /** Closes the block; an empty one is dropped. */
  close(): Promise<void>;
  /** Adds a text to the open block and closes it. */
  say(text: string): Promise<void>;
}

export interface RuntimeTurn {
  readonly agent: {
    readonly agentId: string;
    readonly persona: string;
    readonly modelClass: ManifestClass;
  };
  /** The key by which runtimes share scarce resources fairly. */
  readonly owner: string;
  readonly prompt: string;
  readonly task: unknown;
  readonly tools: readonly OfferedTool[];
  /** The schema that the result must satisfy. */
  readonly returnSchema: CompiledSchema | undefined;
  /** Empty in the first attempt. */
  readonly history: readonly TurnRemark[];
  readonly options: ModelOptions;
  readonly reasoning: ReasoningSink;
  /** The parent of its tool calls, which wait for it in turn. */
  readonly surroundings?: CallSurroundings;
  /** Aborted when the run is cancelled or the turn times out. */
  readonly signal: AbortSignal;
  callTool(toolId: string, input: unknown): Promise<ToolAnswer>;
}

/** Token counts, with the keys that events have. */
export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Adds the usage of two answers. */
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
      /** Reasoning that was not sent to the sink. */
      readonly reasoning?: string;
      readonly decision?: unknown;
      /** The confidence as stated, not yet validated. */
      readonly confidence?: unknown;
      readonly handoff?: Handoff;
      readonly usage?: TokenUsage;
    }
  /** An unreadable answer, which is requested once more. */
  | {
      readonly kind: "malformed";
      readonly content: string;
      readonly message: string;
      readonly usage?: TokenUsage;
    }
  | (Failure & { readonly usage?: TokenUsage });

/** Takes turns; an exception is an internal fault. */
export interface AgentRuntime {
  takeTurn(turn: RuntimeTurn): Promise<RuntimeAnswer>;
  close(): Promise<void>;
}
