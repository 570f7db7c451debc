/** The work of a node when its turn comes: one type a file, by the typeId that definitions name. */
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
  /** Its input ports, put together. */
  readonly inputs: JsonRecord;
  /** The agent that goes on, and its input: an answer let one hand on that was not sure. */
  readonly handedOn?: { readonly agentId: string; readonly task: unknown };
  /** When it was started first, in milliseconds since the epoch: a restart does not begin anew. */
  readonly startedAt: number;
  readonly now: number;
  /** The sequence of the event that began it: no two executions have the same. */
  readonly startedSequence: number;
  readonly signal: AbortSignal;
  /** The run that this execution begins, begun now unless it `isBegun`; or why there is none. */
  beginChild(request: ChildRequest, isBegun: boolean): Promise<StandingRun | RunError>;
  /** Keeps an event of an agent; resolves with its eventId once it is kept. */
  emit(event: AgentEvent): Promise<string>;
}

/** The question of a node that waits, as its readers see it.   OpenWOP "suspend-request" */
export interface SuspendRequest {
  readonly kind: "approval" | "clarification";
  readonly data: JsonRecord;
  /** The schema of the answer. */
  readonly resumeSchema: JsonSchema;
  /** How long it waits; undefined: as long as runs may. */
  readonly timeoutMs?: number;
}

export type NodeOutcome =
  | {
      readonly kind: "completed";
      readonly outputs: JsonRecord;
      /** The events that are told with it: all of them are kept, or none. */
      readonly events?: readonly EventDraft[];
    }
  /** It waits for an answer that looks like this. */
  | { readonly kind: "suspended"; readonly request: SuspendRequest }
  /** It waits for a run of its own, and is executed again when that is over. */
  | { readonly kind: "waiting"; readonly events: readonly EventDraft[] }
  | Failure
  /** RFC 0002 §F: it waits for an answer, and comes to `result` if that is yes. */
  | (Extract<AgentOutcome, { readonly kind: "low-confidence" }> & { readonly agentId: string });

/** The fault of a node of a definition; the key is the node's. */
export interface NodeFault {
  readonly key: string;
  readonly message: string;
}

export interface NodeType {
  /** True if executing it twice could do something twice: it is never done again by itself. */
  readonly isEffectful: boolean;
  /** Its work is a run of its own: a process that takes it up finds that again. */
  readonly isFoundAgain?: boolean;
  /** The schema of a node's `config`; without one, any is taken. */
  readonly config?: JsonSchema;
  execute(call: NodeCall): NodeOutcome | Promise<NodeOutcome>;
  /** The faults of a node whose `config` has its form. */
  checkNode?(node: WorkflowNode): readonly NodeFault[];
}

/** By typeId. */
export type NodeTypes = ReadonlyMap<string, NodeType>;

/** Something that people read. */
export const TEXT = { type: "string", maxLength: 16_384 } as const;

/** A type whose nodes are held against its schema first; faults have the node's keys. */
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
  /** Variables that have no value, whatever their defaults are. */
  readonly unset: readonly string[];
}
