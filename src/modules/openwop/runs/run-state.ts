/**
 * Where a run stands, folded from its events and from nothing else: the same log gives the same
 * state in every process.   OpenWOP "run-snapshot", "replay"
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { Handoff } from "../agent-executor.ts";
import type { RunError } from "../run-starter.ts";
import type { PinnedAgent } from "../workflows/workflow.ts";
import type { Vote } from "./approval.ts";
import { afterWrite } from "./channels.ts";
import { applyInterrupt } from "./fold-interrupt.ts";
import { afterNode } from "./fold-loop.ts";
import type { Run, RunStatus } from "./run.ts";
import type { RunEvent } from "./run-event.ts";

/** Where one node stands. */
export interface NodeState {
  readonly status: "running" | "suspended" | "completed" | "failed" | "skipped" | "cancelled";
  readonly startedAt?: string;
  /** The sequence of its latest node.started. */
  readonly startedSequence?: number;
  readonly attempt?: number;
  readonly completedAt?: string;
  readonly outputs?: JsonRecord;
  readonly error?: RunError;
  /** The agent that goes on, as long as it has done nothing yet. */
  readonly handedTo?: string;
  /** The run that it began, and waits for. */
  readonly childRunId?: string;
}

/** Why a run may wait for somebody. */
export type InterruptKind = "low-confidence" | "approval" | "clarification";

/** What a node waits for. */
export interface Interrupt {
  readonly interruptId: string;
  readonly nodeId: string;
  readonly kind: InterruptKind;
  readonly data: JsonRecord;
  /** What the word has to be; undefined: anything means something. */
  readonly resumeSchema?: JsonRecord;
  /** What was said already where more than one has to. */
  readonly votes: readonly Vote[];
  /** What else becomes of it if the word is yes. */
  readonly handoff?: Handoff;
  readonly requestedAt: string;
  readonly isResolved: boolean;
}

/** The fold of a log. */
export interface RunState {
  readonly status: RunStatus;
  readonly nextSequence: number;
  readonly startedAt?: string;
  readonly completedAt?: string;
  /** Set while it is paused. */
  readonly pausedAt?: string;
  readonly resumedAt?: string;
  /** The sequence of its latest run.resumed. */
  readonly resumedSequence?: number;
  readonly currentNodeId?: string;
  readonly agent?: PinnedAgent;
  readonly nodes: Readonly<Record<string, NodeState>>;
  readonly variables: JsonRecord;
  readonly outputs?: JsonRecord;
  readonly error?: RunError;
  /** How many nodes were begun, each as often as it was. */
  readonly executions: number;
  /** How often an edge led back, by its id. */
  readonly loops: Readonly<Record<string, number>>;
  /** Where one led back to last, and how often any did. */
  readonly backTo?: { readonly nodeId: string; readonly round: number };
  /** By node. */
  readonly interrupts: Readonly<Record<string, Interrupt>>;
}

/** Before the first event. */
export function initialState({ workflow, inputs, parent }: Run): RunState {
  const unset = new Set(parent?.unset);
  const defaults = workflow.variables.flatMap(({ name, defaultValue }) =>
    defaultValue === undefined || unset.has(name) ? [] : [[name, defaultValue] as const],
  );
  const variables = { ...Object.fromEntries(defaults), ...inputs };
  const nothing = { nodes: {}, interrupts: {}, loops: {}, executions: 0 };
  return { status: "pending", nextSequence: 0, variables, ...nothing };
}

/** After one more event. */
export function applyEvent(before: RunState, event: RunEvent, run: Run): RunState {
  const state: RunState = { ...before, nextSequence: event.sequence + 1 };
  const { timestamp, nodeId } = event;
  switch (event.type) {
    case "run.started":
      return { ...state, status: "running", startedAt: timestamp };
    case "run.paused":
      return { ...state, status: "paused", pausedAt: timestamp };
    case "run.resumed":
      return resumed(state, event);
    case "run.completed":
      return { ...ended(state, "completed", timestamp), outputs: recordOf(event, "outputs") };
    case "run.failed":
      return { ...ended(state, "failed", timestamp), error: errorOf(event) };
    case "run.cancelled":
      return ended(state, "cancelled", timestamp);
    case "interrupt.resolved":
    case "approval.received":
    case "node.suspended":
      return nodeId === undefined ? state : applyInterrupt(state, event, nodeId);
    case "node.started":
    case "node.retried":
    case "node.completed":
    case "node.failed":
    case "node.skipped":
    case "node.cancelled":
    case "node.dispatched":
      return nodeId === undefined ? state : applyNode(state, event, nodeId, run);
    case "agent.reasoned":
    case "agent.reasoning.delta":
    case "agent.toolCalled":
    case "agent.toolReturned":
    case "agent.handoff":
    case "agent.decided":
      return nodeId === undefined ? state : applyTurn(state, event, nodeId);
    case "channel.written": {
      const variables = afterWrite(state.variables, event.payload, run.workflow);
      return { ...state, variables };
    }
    case "variable.changed": {
      const { name, next } = event.payload;
      return { ...state, variables: { ...state.variables, [String(name)]: next } };
    }
    case "interrupt.requested":
    case "clarification.resolved":
    case "workflow.loopback-limit":
    case "cap.breached":
      return state;
  }
}

function resumed({ pausedAt: _, ...state }: RunState, event: RunEvent): RunState {
  const { timestamp: resumedAt, sequence: resumedSequence } = event;
  return { ...state, status: "running", resumedAt, resumedSequence };
}

function ended(
  { currentNodeId: _node, pausedAt: _since, ...state }: RunState,
  status: RunStatus,
  completedAt: string,
): RunState {
  return { ...state, status, completedAt };
}

function applyNode(state: RunState, event: RunEvent, nodeId: string, run: Run): RunState {
  const before = state.nodes[nodeId];
  const { timestamp: completedAt } = event;
  switch (event.type) {
    case "node.started": {
      const agent = recordOf(event, "agent");
      const attempt = (before?.attempt ?? 0) + 1;
      const node: NodeState = {
        ...{ status: "running", startedAt: event.timestamp },
        ...{ startedSequence: event.sequence, attempt },
      };
      const executions = state.executions + 1;
      const started = { ...withNode(state, nodeId, node), currentNodeId: nodeId, executions };
      return typeof agent["agentId"] === "string"
        ? { ...started, agent: agent as unknown as PinnedAgent }
        : started;
    }
    case "node.retried":
      return withNode(state, nodeId, {
        ...{ ...before, status: "running", attempt: (before?.attempt ?? 1) + 1 },
      });
    case "node.completed": {
      const outputs = recordOf(event, "outputs");
      const node: NodeState = { ...before, status: "completed", completedAt, outputs };
      const done = {
        ...withNode(state, nodeId, node),
        variables: withOutputs(state, outputs, run),
      };
      return afterNode(done, nodeId, run);
    }
    case "node.failed":
      return withNode(state, nodeId, {
        ...{ ...before, status: "failed", completedAt, error: errorOf(event) },
      });
    case "node.skipped":
      return withNode(state, nodeId, { status: "skipped" });
    case "node.dispatched": {
      const childRunId = String(event.payload["childRunId"]);
      return withNode(state, nodeId, { ...before, status: "running", childRunId });
    }
    default:
      return withNode(state, nodeId, { ...before, status: "cancelled", completedAt });
  }
}

/** A handoff that somebody let happen stands until the agent that goes on says anything. */
function applyTurn(state: RunState, { type, payload }: RunEvent, nodeId: string): RunState {
  const before = state.nodes[nodeId];
  if (before === undefined) return state;
  const { handedTo: _, ...node } = before;
  const { toAgentId, ratifiedBy } = payload;
  if (type === "agent.handoff" && typeof ratifiedBy === "string") {
    return withNode(state, nodeId, { ...node, handedTo: String(toAgentId) });
  }
  return before.handedTo === undefined ? state : withNode(state, nodeId, node);
}

/** What a node puts out under the name of a variable becomes the variable. */
function withOutputs(state: RunState, outputs: JsonRecord, { workflow }: Run): JsonRecord {
  const written = workflow.variables.flatMap(({ name }) =>
    Object.hasOwn(outputs, name) ? [[name, outputs[name]] as const] : [],
  );
  return written.length === 0
    ? state.variables
    : { ...state.variables, ...Object.fromEntries(written) };
}

function withNode(state: RunState, nodeId: string, node: NodeState): RunState {
  return { ...state, nodes: { ...state.nodes, [nodeId]: node } };
}

function recordOf({ payload }: RunEvent, member: string): JsonRecord {
  const value = payload[member];
  return isRecord(value) ? value : {};
}

function errorOf(event: RunEvent): RunError {
  const { code, message, details } = recordOf(event, "error");
  const error = { code: String(code), message: String(message) };
  return isRecord(details) ? { ...error, details } : error;
}
