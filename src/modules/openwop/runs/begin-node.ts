/**
 * The beginning of a node: the handoff to its agent, and that it is begun. A node that was begun
 * before is taken up or begun again; one too many, or one whose effect a replay has no record of, is
 * begun and fails.   OpenWOP RFC 0002 §B, "replay"
 */

import type { RunError } from "../agent-executor.ts";
import type { NodeTypes } from "../nodes/node-type.ts";
import type { WorkflowNode } from "../workflows/workflow.ts";
import { isEffectful, isFoundAgain, missingSource } from "./fork-run.ts";
import { type EventDraft, MAX_NODE_EXECUTIONS, type Run } from "./run.ts";
import { nodeEvent, nodeHandoff, nodeStarted } from "./run-events.ts";
import type { RunLog } from "./run-log.ts";
import type { NodeState } from "./run-state.ts";

/** The events of a beginning, and why the node must not be executed, if it must not. */
interface Beginning {
  readonly events: readonly EventDraft[];
  readonly error?: RunError;
}

/** Begins a node that is not over. `pinned`: the agent of the node before. */
export function beginNode(
  node: WorkflowNode,
  pinned: string | undefined,
  log: RunLog,
  types: NodeTypes,
): Beginning {
  const { run, state } = log;
  const before = state.nodes[node.id];
  const isReplay = run.source?.mode === "replay";
  if (before?.status === "running" && !isDoneAgain(run, before)) {
    // Nobody has done anything since the answer was given: the next agent takes its first turn.
    if (before.handedTo !== undefined && !isReplay) return { events: [] };
    return takeUp(log, node.id, before, types);
  }
  if (before === undefined) {
    const beyond = checkLimit(node, log);
    if (beyond !== undefined) return beyond;
  }
  const events = [...nodeHandoff(node, pinned), nodeStarted(node, (before?.attempt ?? 0) + 1)];
  // A replay tells what was recorded; what its source has not done it does not do either.
  const isLost = isReplay && isEffectful(run, node.id, types);
  return isLost ? { events, error: missingSource() } : { events };
}

/** A branch does again what it has copied the beginning of. */
function isDoneAgain({ source }: Run, { startedSequence = 0 }: NodeState): boolean {
  return source?.mode === "branch" && startedSequence < source.copied;
}

function checkLimit(
  { id }: WorkflowNode,
  { run, state: { executions } }: RunLog,
): Beginning | undefined {
  const { recursionLimit: asked } = run.configurable;
  const ofRun = typeof asked === "number" ? asked : MAX_NODE_EXECUTIONS;
  const limit = Math.min(ofRun, MAX_NODE_EXECUTIONS);
  if (executions < limit) return undefined;
  const payload = { kind: "node-executions", nodeId: id, limit, observed: executions + 1 };
  const message = `the run may execute ${limit} nodes at most`;
  return {
    events: [{ type: "cap.breached", nodeId: id, payload }],
    error: { code: "recursion_limit_exceeded", message },
  };
}

const PAUSED = { code: "run_paused", message: "the run was paused meanwhile" };
const STOPPED = { code: "run_interrupted", message: "the server stopped meanwhile" };

/**
 * Judges a node that was begun and is not done: by a process that is gone, before a pause, or by the
 * source of a replay. One without an effect is done again; an effect never is.   OpenWOP "replay"
 */
function takeUp(
  { run, state }: RunLog,
  nodeId: string,
  { startedSequence = 0, attempt = 1 }: NodeState,
  types: NodeTypes,
): Beginning {
  const isCopied = startedSequence < (run.source?.copied ?? 0);
  // It is looked for again, and was never gone.
  if (!isCopied && isFoundAgain(run, nodeId, types)) return { events: [] };
  if (isEffectful(run, nodeId, types)) {
    const message = "the server stopped while this node was executed, and it is not done again";
    return { events: [], error: isCopied ? missingSource() : { code: "run_interrupted", message } };
  }
  const lastError = (state.resumedSequence ?? -1) > startedSequence ? PAUSED : STOPPED;
  return { events: [nodeEvent("node.retried", nodeId, { attempt: attempt + 1, lastError })] };
}
