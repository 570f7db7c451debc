/**
 * The end of a run as events: one terminal event, last, after those that led to it.   OpenWOP
 * "run-event"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { RunError } from "../agent-executor.ts";
import { lastNodes } from "../workflows/node-order.ts";
import type { LoopExcess } from "./fold-loop.ts";
import { isOver, type Run, type RunStop } from "./run.ts";
import type { EventDraft } from "./run-event.ts";
import type { RunState } from "./run-state.ts";

/** The first event of every run. */
function runStarted({ workflow, inputs, tags, metadata, parent }: Run): EventDraft {
  const more = {
    ...(parent === undefined ? {} : { parentRunId: parent.runId, parentNodeId: parent.nodeId }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
  return { type: "run.started", payload: { workflowId: workflow.id, inputs, ...more } };
}

/** All nodes are done. */
export function runCompleted(run: Run, state: RunState, now: number): EventDraft {
  const payload = { outputs: outputsOf(run, state), ...durationOf(state, now) };
  return { type: "run.completed", payload };
}

/** A node failed, and with it the run. */
export function nodeFailed(
  nodeId: string,
  error: RunError,
  state: RunState,
  now: number,
): readonly EventDraft[] {
  return [
    { type: "node.failed", nodeId, payload: { nodeId, error } },
    runFailed(error, state, now, nodeId),
  ];
}

/** The run failed. */
export function runFailed(
  error: RunError,
  state: RunState,
  now: number,
  failedNodeId?: string,
): EventDraft {
  const node = failedNodeId === undefined ? {} : { failedNodeId };
  return { type: "run.failed", payload: { error, ...node, ...durationOf(state, now) } };
}

/** A loop was to be taken once more than it may be. */
export function loopExceeded(
  { nodeId, limit, observed }: LoopExcess,
  state: RunState,
  now: number,
): readonly EventDraft[] {
  const message = `a loop of the run may be taken ${limit} times`;
  const breach = { kind: "loop-iterations", limit, observed, nodeId };
  return [
    {
      ...{ type: "workflow.loopback-limit", nodeId },
      payload: { nodeId, iterations: observed, limit },
    },
    { type: "cap.breached", nodeId, payload: breach },
    runFailed({ code: "loop_limit_exceeded", message }, state, now, nodeId),
  ];
}

/** A fault, or a bound, wherever the run stands; nothing for a run that is over. */
export function failWherever(
  error: RunError,
  state: RunState,
  run: Run,
  now: number,
): readonly EventDraft[] {
  if (isOver(state.status)) return [];
  const nodeId = openNode(state);
  return [
    ...begun(state, run),
    ...(nodeId === undefined
      ? [runFailed(error, state, now)]
      : nodeFailed(nodeId, error, state, now)),
  ];
}

/** The events of a run that is stopped from outside; none for a run that is over. */
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
    const observed = Math.max(limit, now - Date.parse(state.startedAt ?? ""));
    const error = { code: "run_timeout", message: `the run was executed for ${limit} ms` };
    const breach = { kind: "run-duration", limit, observed };
    const node = nodeId === undefined ? {} : { nodeId };
    return [
      { type: "cap.breached", ...node, payload: { ...breach, ...node } },
      ...failWherever(error, state, run, now),
    ];
  }
  const { reason, by: cancelledBy, parentRunId } = stop;
  const why = reason === undefined ? {} : { reason };
  const whose = parentRunId === undefined ? {} : { parentRunId };
  const cancelled: readonly EventDraft[] =
    nodeId === undefined ? [] : [{ type: "node.cancelled", nodeId, payload: { nodeId, ...why } }];
  return [
    ...begun(state, run),
    ...cancelled,
    {
      type: "run.cancelled",
      payload: { ...why, ...whose, cancelledBy, ...durationOf(state, now) },
    },
  ];
}

/** Every log begins with run.started, whatever comes after it. */
export function begun(state: RunState, run: Run): readonly EventDraft[] {
  return state.status === "pending" ? [runStarted(run)] : [];
}

/** The node that was begun and is not done. */
export function openNode({ nodes }: RunState): string | undefined {
  const open = Object.entries(nodes).find(
    ([, { status }]) => status === "running" || status === "suspended",
  );
  return open?.[0];
}

/** The outputs of the last node; of several, each under its id. */
function outputsOf({ workflow }: Run, { nodes }: RunState): JsonRecord {
  const last = lastNodes(workflow);
  const [only] = last;
  if (last.length === 1 && only !== undefined) return nodes[only.id]?.outputs ?? {};
  return Object.fromEntries(last.map(({ id }) => [id, nodes[id]?.outputs ?? {}]));
}

function durationOf({ startedAt }: RunState, now: number): { readonly durationMs: number } {
  return { durationMs: startedAt === undefined ? 0 : Math.max(0, now - Date.parse(startedAt)) };
}
