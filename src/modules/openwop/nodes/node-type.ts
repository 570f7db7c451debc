/** The interface of node types: each executes the nodes of one typeId. */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { compileOwn } from "../../../schema/schema.ts";
import type { AgentEvent, AgentOutcome, Failure, RunError } from "../agent-executor.ts";
import type { EventDraft, Run } from "../runs/run.ts";
import type { RunState, StandingRun } from "../runs/run-state.ts";
import type { WorkflowNode } from "../workflows/workflow.ts";

export interface NodeCall {
  readonly run: Run;
  readonly node: WorkflowNode;
  readonly state: RunState;
  /** The merged values of its input ports. */
  readonly inputs: JsonRecord;
  /** The agent that takes over, and its task, after an approved handoff of an unsure agent. */
  readonly handedOn?: { readonly agentId: string; readonly task: unknown };
  /** The node's first start in milliseconds since the epoch; a restart does not reset it. */
  readonly startedAt: number;
  readonly now: number;
  /** The sequence of the event that began it, unique to this execution. */
  readonly startedSequence: number;
  readonly signal: AbortSignal;
  /** Returns this execution's child run, creating it unless it `isBegun`, or the error that prevents it. */
  beginChild(request: ChildRequest, isBegun: boolean): Promise<StandingRun | RunError>;
  /** Stores an agent event; resolves with its eventId. */
  emit(event: AgentEvent): Promise<string>;
}

/** A waiting node's question as readers see it.   OpenWOP "suspend-request" */
export interface SuspendRequest {
  readonly kind: "approval" | "clarification";
  readonly data: JsonRecord;
  /** The schema of the answer. */
  readonly resumeSchema: JsonSchema;
  /** The time that it waits; undefined for the run's limit. */
  readonly timeoutMs?: number;
}

export type NodeOutcome =
  | {
      readonly kind: "completed";
      readonly outputs: JsonRecord;
      /** Events that are stored atomically with the completion. */
      readonly events?: readonly EventDraft[];
    }
  /** Waits for an answer that satisfies the request's schema. */
  | { readonly kind: "suspended"; readonly request: SuspendRequest }
  /** Waits for a child run, and is executed again once that is over. */
  | { readonly kind: "waiting"; readonly events: readonly EventDraft[] }
  | Failure
  /** RFC 0002 §F: waits for an answer; if that is yes, the outcome is `result`. */
  | (Extract<AgentOutcome, { readonly kind: "low-confidence" }> & { readonly agentId: string });

/** A fault of a definition's node; `key` is relative to the node. */
export interface NodeFault {
  readonly key: string;
  readonly message: string;
}

export interface NodeType {
  /** True if a second execution could repeat an effect: the node is then never retried automatically. */
  readonly isEffectful: boolean;
  /** True if its work is a child run, which another process can find and resume. */
  readonly isFoundAgain?: boolean;
  /** The schema of a node's `config`; undefined accepts any. */
  readonly config?: JsonSchema;
  execute(call: NodeCall): NodeOutcome | Promise<NodeOutcome>;
  /** Returns faults that the config schema cannot express. */
  checkNode?(node: WorkflowNode): readonly NodeFault[];
}

/** By typeId. */
export type NodeTypes = ReadonlyMap<string, NodeType>;

/** A text for people. */
export const TEXT = { type: "string", maxLength: 16_384 } as const;

/** Wraps a type so that `config` is first checked against its schema; faults have the node's keys. */
export function withConfigCheck(type: NodeType): NodeType {
  if (type.config === undefined) return type;
  const schema = compileOwn(type.config);
  return {
    ...type,
    checkNode: (node) => {
      const violations = schema.check(node.config);
      if (violations === undefined) return type.checkNode?.(node) ?? [];
      return violations.map(({ path, message }) => ({
        key: `config${path.replaceAll("/", ".")}`,
        message,
      }));
    },
  };
}

export interface ChildRequest {
  readonly workflowId: string;
  readonly inputs: JsonRecord;
  /** Variables without a value, even if they have a default. */
  readonly unset: readonly string[];
}
