/**
 * A node that was begun and is not done: by a process that is gone, before a pause, or by the source
 * of a replay. One without an effect is taken up again; what an effect came to is not known, and it is
 * not done twice.   OpenWOP "replay"
 */
import type { NodeTypes } from "../nodes/node-type.ts";
import type { RunError } from "../run-starter.ts";
import { isEffectful, isFoundAgain, missingSource } from "./copy-history.ts";
import type { Run } from "./run.ts";
import type { EventDraft } from "./run-event.ts";
import type { RunState } from "./run-state.ts";

/** The events of a run that is taken up, or why it does not go on. */
export interface TakenUp {
  readonly event?: EventDraft;
  readonly error?: RunError;
}

const PAUSED = { code: "run_paused", message: "the run was paused meanwhile" };
const STOPPED = { code: "run_interrupted", message: "the server stopped meanwhile" };

/** Judges the node where the run stands. */
export function takeUp(run: Run, nodeId: string, state: RunState, types: NodeTypes): TakenUp {
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
