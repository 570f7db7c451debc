/** Folds a run's log into its state, event by event, from nothing but the events. */
import { given, isRecord, type JsonRecord, memberOf, recordIn } from "../../../base/json-value.ts";
import { type RunError, readHandoff } from "../agent-executor.ts";
import type { PinnedAgent, WorkflowEdge } from "../workflows/workflow.ts";
import { maxIterations, nodesFrom, takenLoop } from "../workflows/workflow-graph.ts";
import type { Run, RunEvent, RunStatus } from "./run.ts";
import {
  afterWrite,
  type Interrupt,
  type InterruptKind,
  type NodeState,
  type RunState,
} from "./run-state.ts";

/** Applies one event. */
export function applyEvent(before: RunState, event: RunEvent, run: Run): RunState {
  const state: RunState = { ...before, nextSequence: event.sequence + 1 };
  const { timestamp, nodeId, payload } = event;
  switch (event.type) {
    case "run.started":
      return { ...state, status: "running", startedAt: timestamp };
    case "run.paused":
      return { ...state, status: "paused", pausedAt: timestamp };
    case "run.resumed": {
      const { pausedAt: _, ...active } = state;
      const { sequence: resumedSequence } = event;
      return { ...active, status: "running", resumedAt: timestamp, resumedSequence };
    }
    case "run.completed":
      return { ...ended(state, "completed", timestamp), outputs: recordIn(payload["outputs"]) };
    case "run.failed":
      return { ...ended(state, "failed", timestamp), error: errorOf(event) };
    case "run.cancelled":
      return ended(state, "cancelled", timestamp);
    case "channel.written":
      return { ...state, variables: afterWrite(state.variables, payload, run.workflow) };
    case "variable.changed": {
      const { name, next } = payload;
      return { ...state, variables: { ...state.variables, [String(name)]: next } };
    }
    default:
      return nodeId === undefined ? state : applyToNode(state, event, nodeId, run);
  }
}

function ended(
  { currentNodeId: _node, pausedAt: _since, ...state }: RunState,
  status: RunStatus,
  completedAt: string,
): RunState {
  return { ...state, status, completedAt };
}

/** Applies an event of a node; purely informational events change nothing. */
function applyToNode(state: RunState, event: RunEvent, nodeId: string, run: Run): RunState {
  const { type, payload, timestamp: completedAt } = event;
  const before = memberOf(state.nodes, nodeId);
  const become = (node: NodeState): RunState => withNode(state, nodeId, { ...before, ...node });
  switch (type) {
    case "node.started": {
      const { agent } = payload;
      const attempt = (before?.attempt ?? 0) + 1;
      const { timestamp: startedAt, sequence: startedSequence } = event;
      const node: NodeState = { status: "running", startedAt, startedSequence, attempt };
      const executions = state.executions + 1;
      const started = { ...withNode(state, nodeId, node), currentNodeId: nodeId, executions };
      return typeof recordIn(agent)["agentId"] === "string"
        ? { ...started, agent: agent as PinnedAgent }
        : started;
    }
    case "node.retried":
      return become({ status: "running", attempt: (before?.attempt ?? 1) + 1 });
    case "node.completed": {
      const outputs = recordIn(payload["outputs"]);
      const done = become({ status: "completed", completedAt, outputs });
      return afterNode({ ...done, variables: withOutputs(state, outputs, run) }, nodeId, run);
    }
    case "node.failed":
      return become({ status: "failed", completedAt, error: errorOf(event) });
    case "node.cancelled":
      return become({ status: "cancelled", completedAt });
    case "node.skipped":
      return withNode(state, nodeId, { status: "skipped" });
    case "node.dispatched":
      return become({ status: "running", childRunId: String(payload["childRunId"]) });
    case "node.suspended":
      return suspended(become({ status: "suspended" }), event, nodeId);
    case "approval.received":
    case "interrupt.resolved":
      return answered(state, event, nodeId);
    default:
      return type.startsWith("agent.") ? applyTurn(state, event, nodeId) : state;
  }
}

/** An approved handoff is pending until the next agent's first event. */
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

/** Assigns outputs to the variables of the same name. */
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

function errorOf(event: RunEvent): RunError {
  const { code, message, details } = recordIn(event.payload["error"]);
  const error = { code: String(code), message: String(message) };
  return isRecord(details) ? { ...error, details } : error;
}

/** Applies a vote or the resolution of an interrupt.   OpenWOP "interrupt" */
function answered(state: RunState, { type, payload }: RunEvent, nodeId: string): RunState {
  const interrupt = state.interrupts[nodeId];
  if (interrupt === undefined) return state;
  if (type === "approval.received") {
    const { decidedBy, action } = payload;
    // A timeout is not a vote.
    if (action === "timeout") return state;
    const votes = [...interrupt.votes, { by: String(decidedBy), action: String(action) }];
    return withInterrupt(state, { ...interrupt, votes });
  }
  const goesOn = withNode(state, nodeId, { ...state.nodes[nodeId], status: "running" });
  return { ...withInterrupt(goesOn, { ...interrupt, isResolved: true }), status: "running" };
}

function suspended(state: RunState, { payload, timestamp }: RunEvent, nodeId: string): RunState {
  const kind = kindOf(payload);
  const { interruptId, key, resumeSchema, timeoutMs } = payload;
  const interrupt: Interrupt = {
    ...{ interruptId: String(interruptId), key: String(key ?? interruptId) },
    ...{ nodeId, kind, votes: [] },
    ...{ data: dataOf(kind, payload), requestedAt: timestamp, isResolved: false },
    ...(isRecord(resumeSchema) ? { resumeSchema } : {}),
    ...(typeof timeoutMs === "number" ? { timeoutMs } : {}),
    ...readHandoff(payload["handoff"]),
  };
  const status = kind === "clarification" ? "waiting-input" : "waiting-approval";
  return { ...withInterrupt(state, interrupt), status, currentNodeId: nodeId };
}

function withInterrupt(state: RunState, interrupt: Interrupt): RunState {
  return { ...state, interrupts: { ...state.interrupts, [interrupt.nodeId]: interrupt } };
}

function kindOf({ kind }: JsonRecord): InterruptKind {
  return kind === "approval" || kind === "clarification" ? kind : "low-confidence";
}

/** The members that the interrupt's own schema has.   OpenWOP "suspend-request" */
function dataOf(kind: InterruptKind, { data, ...payload }: JsonRecord): JsonRecord {
  if (kind !== "low-confidence") return recordIn(data);
  const { agentId, threshold, observed, decision } = payload;
  return { agentId, threshold, observed, ...given({ decision }) };
}

/** A loop beyond its iteration limit. */
export interface LoopExcess {
  readonly nodeId: string;
  readonly limit: number;
  readonly observed: number;
}

/** Follows a loop edge of a completed node: resets the nodes to execute again. */
function afterNode(state: RunState, nodeId: string, { workflow }: Run): RunState {
  const edge = takenLoop(workflow, nodeId, state.nodes[nodeId]?.outputs ?? {});
  if (edge === undefined) return state;
  const again = nodesFrom(workflow, edge.targetNodeId);
  const nodes = Object.entries(state.nodes).filter(([id]) => !again.has(id));
  // Loops nested in this one are counted from zero.
  const inner = workflow.edges.filter(
    ({ id, condition, sourceNodeId }) =>
      condition !== undefined && id !== edge.id && again.has(sourceNodeId),
  );
  const dropped = new Set(inner.map(({ id }) => id));
  const loops = Object.entries(state.loops).filter(([id]) => !dropped.has(id));
  const taken = (memberOf(state.loops, edge.id) ?? 0) + 1;
  return {
    ...{ ...state, nodes: Object.fromEntries(nodes) },
    loops: { ...Object.fromEntries(loops), [edge.id]: taken },
    backTo: { nodeId: edge.targetNodeId, round: (state.backTo?.round ?? 0) + 1 },
  };
}

/** Finds the loop that exceeds its iteration limit. */
export function findLoopExcess(
  { workflow, configurable }: Run,
  { loops }: RunState,
  ofHost: number,
): LoopExcess | undefined {
  const { maxLoopIterations: asked } = configurable;
  const ofRun = typeof asked === "number" ? asked : maxIterations(workflow);
  const limit = Math.min(ofRun, ofHost);
  const excess = workflow.edges.find(({ id }: WorkflowEdge) => (memberOf(loops, id) ?? 0) > limit);
  if (excess === undefined) return undefined;
  return { nodeId: excess.sourceNodeId, limit, observed: memberOf(loops, excess.id) ?? 0 };
}
