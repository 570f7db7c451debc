/**
 * The beginning of a node: the handoff to its agent, and that it is begun. A node that was begun
 * before is taken up or begun again; one too many, or one whose effect a replay has no record of, is
 * begun and fails.   OpenWOP RFC 0002 §B, "replay"
 */

import type { RunError } from "../agent-executor.ts";
import type { NodeTypes } from "../nodes/node-type.ts";
import type { WorkflowNode } from "../workflows/workflow.ts";
import { isEffectful, isFoundAgain, missingSource } from "./copy-history.ts";
import { nodeHandoff, nodeStarted } from "./node-events.ts";
import type { Run } from "./run.ts";
import type { EventDraft } from "./run-event.ts";
import { MAX_NODE_EXECUTIONS } from "./run-limits.ts";
import type { RunState } from "./run-state.ts";

/** The state of the run. */
interface BeginningParts {
  readonly run: Run;
  readonly state: RunState;
  readonly types: NodeTypes;
}

/** The events of a beginning, and why the node must not be executed, if it must not. */
interface Beginning {
  readonly events: readonly EventDraft[];
  readonly error?: RunError;
}

/** Begins a node that is not over. `pinned`: the agent of the node before. */
export function beginNode(
  node: WorkflowNode,
  pinned: string | undefined,
  { run, state, types }: BeginningParts,
): Beginning {
  const before = state.nodes[node.id];
  if (before?.status === "running" && !isCopied(run, before.startedSequence)) {
    // Nobody has done anything since the answer was given: the next agent takes its first turn.
    if (before.handedTo !== undefined && run.source?.mode !== "replay") return { events: [] };
    const { event, error } = takeUp(run, node.id, state, types);
    return {
      events: event === undefined ? [] : [event],
      ...(error === undefined ? {} : { error }),
    };
  }
  if (before === undefined) {
    const beyond = checkLimit(node, run, state);
    if (beyond !== undefined) return beyond;
  }
  const events = [...nodeHandoff(node, pinned), nodeStarted(node, (before?.attempt ?? 0) + 1)];
  // A replay tells what was recorded; what its source has not done it does not do either.
  const isLost = run.source?.mode === "replay" && isEffectful(run, node.id, types);
  return isLost ? { events, error: missingSource() } : { events };
}

/** A branch does again what it has copied the beginning of. */
function isCopied({ source }: Run, startedSequence: number | undefined): boolean {
  return source?.mode === "branch" && (startedSequence ?? 0) < source.copied;
}

function checkLimit(
  { id }: WorkflowNode,
  run: Run,
  { executions }: RunState,
): Beginning | undefined {
  const { recursionLimit: asked } = run.configurable;
  const limit = Math.min(
    typeof asked === "number" ? asked : MAX_NODE_EXECUTIONS,
    MAX_NODE_EXECUTIONS,
  );
  if (executions < limit) return undefined;
  const payload = { kind: "node-executions", nodeId: id, limit, observed: executions + 1 };
  const message = `the run may execute ${limit} nodes at most`;
  return {
    events: [{ type: "cap.breached", nodeId: id, payload }],
    error: { code: "recursion_limit_exceeded", message },
  };
}

/** The events of a run that is taken up, or why it does not go on. */
interface TakenUp {
  readonly event?: EventDraft;
  readonly error?: RunError;
}

const PAUSED = { code: "run_paused", message: "the run was paused meanwhile" };
const STOPPED = { code: "run_interrupted", message: "the server stopped meanwhile" };

/**
 * Judges a node that was begun and is not done: by a process that is gone, before a pause, or by the
 * source of a replay. One without an effect is done again; an effect never is.   OpenWOP "replay"
 */
function takeUp(run: Run, nodeId: string, state: RunState, types: NodeTypes): TakenUp {
  const { startedSequence = 0, attempt = 1 } = state.nodes[nodeId] ?? {};
  const isCopied = startedSequence < (run.source?.copied ?? 0);
  // It is looked for again, and was never gone.
  if (!isCopied && isFoundAgain(run, nodeId, types)) return {};
  if (isEffectful(run, nodeId, types)) {
    if (isCopied) return { error: missingSource() };
    const message = "the server stopped while this node was executed, and it is not done again";
    return { error: { code: "run_interrupted", message } };
  }
  const lastError = (state.resumedSequence ?? -1) > startedSequence ? PAUSED : STOPPED;
  const payload = { nodeId, attempt: attempt + 1, lastError };
  return { event: { type: "node.retried", nodeId, payload } };
}
