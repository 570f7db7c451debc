/**
 * The events of a run and its nodes. Exactly one terminal event comes last; members without a value are dropped when an
 * event is stored.   OpenWOP "run-event", "run-event-payloads"
 */
import { given, type JsonRecord } from "../../../base/json-value.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { RunError } from "../agent-executor.ts";
import type { NodeOutcome, SuspendRequest } from "../nodes/node-type.ts";
import type { WorkflowNode } from "../workflows/workflow.ts";
import { lastNodes } from "../workflows/workflow-graph.ts";
import type { LoopExcess } from "./fold-run.ts";
import {
  type EventDraft,
  isOver,
  type PauseRequest,
  type Run,
  type RunEventType,
  type RunStop,
} from "./run.ts";
import {
  type Answering,
  type Interrupt,
  type InterruptAnswer,
  openInterrupt,
  type RunState,
} from "./run-state.ts";

/** An event of a node, whose payload names it. */
export function nodeEvent(type: RunEventType, nodeId: string, payload: JsonRecord): EventDraft {
  return { type, nodeId, payload: { nodeId, ...payload } };
}

/** The event of a started node. */
export function nodeStarted({ id, typeId, agent }: WorkflowNode, attempt: number): EventDraft {
  return nodeEvent("node.started", id, { typeId, attempt, agent });
}

/** The event of a completed node. */
export function nodeCompleted(
  { id, agent }: Pick<WorkflowNode, "id" | "agent">,
  outputs: JsonRecord,
  elapsedMs: number,
): EventDraft {
  return nodeEvent("node.completed", id, { outputs, durationMs: Math.max(0, elapsedMs), agent });
}

/** The event of a node that completes with the answer it waited for. */
export function nodeDone(
  nodeId: string,
  outputs: JsonRecord,
  { state, run, now }: Answering,
): EventDraft {
  const startedAt = Date.parse(state.nodes[nodeId]?.startedAt ?? "");
  const node = run.workflow.nodes.find(({ id }) => id === nodeId) ?? { id: nodeId };
  return nodeCompleted(node, outputs, now - startedAt);
}

/** The handoff event between two nodes with different agents. */
export function nodeHandoff(
  { id: toNodeId, agent }: WorkflowNode,
  fromAgentId: string | undefined,
): readonly EventDraft[] {
  const { agentId: toAgentId } = agent ?? {};
  if (toAgentId === undefined || fromAgentId === undefined || fromAgentId === toAgentId) return [];
  const reason = "the next node is another agent's";
  return [{ type: "agent.handoff", payload: { fromAgentId, toAgentId, reason, toNodeId } }];
}

/** The events of a node that starts to wait: one about the node, one about the question. */
export function interruptRequested(
  { kind, data, resumeSchema, timeoutMs }: SuspendRequest,
  { runId }: Run,
  nodeId: string,
  startedSequence: number,
): readonly EventDraft[] {
  const key = `${runId}:${nodeId}:${startedSequence}`;
  const asked = { kind, key, data, resumeSchema, timeoutMs };
  return [
    nodeEvent("node.suspended", nodeId, { interruptId: uuidv7(), reason: kind, ...asked }),
    { type: "interrupt.requested", nodeId, payload: asked },
  ];
}

/** RFC 0002 §F: the event of an unsure agent, whose run waits for an answer. */
export function nodeSuspended(
  nodeId: string,
  outcome: Extract<NodeOutcome, { kind: "low-confidence" }>,
): EventDraft {
  const { kind, agentId, threshold, observed, decision, handoff } = outcome;
  return nodeEvent("node.suspended", nodeId, {
    ...{ interruptId: uuidv7(), kind, reason: kind },
    ...{ agentId, threshold, observed, decision, handoff },
  });
}

/** The event that resolves an interrupt. */
export function interruptResolved(
  { nodeId, interruptId, kind }: Interrupt,
  { resumeValue, by }: InterruptAnswer,
  now: number,
  more: JsonRecord = {},
): EventDraft {
  const times = { resolvedBy: by, resolvedAt: new Date(now).toISOString() };
  return nodeEvent("interrupt.resolved", nodeId, {
    ...{ interruptId, kind, resumeValue, ...times, ...more },
  });
}

/** The first event of a log, run.started; empty if it was already written. */
export function begun({ status }: RunState, run: Run): readonly EventDraft[] {
  if (status !== "pending") return [];
  const { workflow, inputs, tags, metadata, parent } = run;
  const more = {
    ...{ parentRunId: parent?.runId, parentNodeId: parent?.nodeId },
    tags: tags.length === 0 ? undefined : tags,
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
  };
  return [{ type: "run.started", payload: { workflowId: workflow.id, inputs, ...more } }];
}

/** The event of a pause. */
export function runPaused({ reason, drainPolicy, by: pausedBy }: PauseRequest): EventDraft {
  return { type: "run.paused", payload: { reason, drainPolicy, pausedBy } };
}

/** The event of a completed run. Its outputs are the last node's; with several last nodes, each by its id. */
export function runCompleted({ workflow }: Run, state: RunState, now: number): EventDraft {
  const last = lastNodes(workflow).map(({ id }) => [id, state.nodes[id]?.outputs ?? {}] as const);
  const outputs = last.length === 1 ? last[0]?.[1] : Object.fromEntries(last);
  return { type: "run.completed", payload: { outputs, durationMs: durationOf(state, now) } };
}

/** The events of a failed node, which fails its run. */
export function nodeFailed(
  nodeId: string,
  error: RunError,
  state: RunState,
  now: number,
): readonly EventDraft[] {
  return [nodeEvent("node.failed", nodeId, { error }), runFailed(error, state, now, nodeId)];
}

/** The event of a failed run. */
export function runFailed(
  error: RunError,
  state: RunState,
  now: number,
  failedNodeId?: string,
): EventDraft {
  const durationMs = durationOf(state, now);
  return { type: "run.failed", payload: { error, failedNodeId, durationMs } };
}

/** The events of a loop beyond its iteration limit. */
export function loopExceeded(
  { nodeId, limit, observed }: LoopExcess,
  state: RunState,
  now: number,
): readonly EventDraft[] {
  const message = `a loop of the run may be taken ${limit} times`;
  const breach = { kind: "loop-iterations", limit, observed, nodeId };
  return [
    nodeEvent("workflow.loopback-limit", nodeId, { iterations: observed, limit }),
    { type: "cap.breached", nodeId, payload: breach },
    runFailed({ code: "loop_limit_exceeded", message }, state, now, nodeId),
  ];
}

/** The events of a failure at any point of a run; none if the run is over. */
export function failWherever(
  error: RunError,
  state: RunState,
  run: Run,
  now: number,
): readonly EventDraft[] {
  if (isOver(state.status)) return [];
  const nodeId = openNode(state);
  const failed =
    nodeId === undefined ? [runFailed(error, state, now)] : nodeFailed(nodeId, error, state, now);
  return [...begun(state, run), ...failed];
}

/** The events of an interrupt or a pause that timed out.   OpenWOP "interrupt" timeoutMs */
export function waitedTooLong(state: RunState, run: Run, now: number): readonly EventDraft[] {
  const { interruptId, nodeId, kind } = openInterrupt(state) ?? {};
  const isPaused = nodeId === undefined;
  const message = isPaused ? "the run was paused for too long" : "nobody has answered in time";
  const code = isPaused ? "pause_timeout" : "interrupt_timeout";
  const decidedAt = new Date(now).toISOString();
  const timedOut = { interruptId, action: "timeout", decidedAt };
  return [
    ...(kind === "approval" && !isPaused ? [nodeEvent("approval.received", nodeId, timedOut)] : []),
    ...failWherever({ code, message }, state, run, now),
  ];
}

/** The events of stopping a run; none if it is over. */
export function stopped(
  stop: RunStop,
  state: RunState,
  run: Run,
  now: number,
): readonly EventDraft[] {
  if (isOver(state.status) || stop.kind === "paused" || stop.kind === "taken") return [];
  const nodeId = openNode(state);
  if (stop.kind === "timeout") {
    const { limitMs: limit } = stop;
    // Above the limit, even if the clock was set back.
    const observed = Math.max(limit + 1, now - Date.parse(state.startedAt ?? ""));
    const error = { code: "run_timeout", message: `the run was executed for ${limit} ms` };
    const payload = { kind: "run-duration", limit, observed, nodeId };
    return [
      { type: "cap.breached", ...given({ nodeId }), payload },
      ...failWherever(error, state, run, now),
    ];
  }
  const { reason, by: cancelledBy, parentRunId } = stop;
  const durationMs = durationOf(state, now);
  return [
    ...begun(state, run),
    ...(nodeId === undefined ? [] : [nodeEvent("node.cancelled", nodeId, { reason })]),
    { type: "run.cancelled", payload: { reason, parentRunId, cancelledBy, durationMs } },
  ];
}

/** The node that has started and not ended. */
export function openNode({ nodes }: RunState): string | undefined {
  const open = Object.entries(nodes).find(
    ([, { status }]) => status === "running" || status === "suspended",
  );
  return open?.[0];
}

function durationOf({ startedAt }: RunState, now: number): number {
  return startedAt === undefined ? 0 : Math.max(0, now - Date.parse(startedAt));
}
