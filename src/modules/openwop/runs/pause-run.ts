/**
 * Pausing a run from outside and letting it go on. At once, a node without an effect is cut off and
 * taken up again later; a turn of an agent is never cut off: it is waited for, like any node under
 * `drain-current-node`.   OpenWOP "rest-endpoints" §pause, §resume
 */
import { halt } from "./end-run.ts";
import { isEffectful } from "./fork-run.ts";
import { type EventDraft, isOver, type PauseRequest, type RunRefusal, refuseRun } from "./run.ts";
import { begun, openNode, runPaused } from "./run-events.ts";
import type { RunLog } from "./run-log.ts";
import type { RunState } from "./run-state.ts";
import type { RunParts } from "./workflow-runs.ts";

/** Pauses a run, or has it paused behind its node; undefined: that is how it is now. */
export async function pauseRun(
  log: RunLog,
  request: PauseRequest,
  { register, types }: RunParts,
): Promise<RunRefusal | undefined> {
  const { run } = log;
  const isDraining = request.drainPolicy === "drain-current-node";
  let refusal: RunRefusal | undefined;
  await log.append((state) => {
    const nodeId = openNode(state);
    refusal = refusePause(log, state);
    if (refusal === undefined && nodeId !== undefined && !isDraining) {
      refusal = isEffectful(run, nodeId, types) ? refuseCut(state, nodeId) : undefined;
    }
    if (refusal !== undefined || (isDraining && nodeId !== undefined)) return [];
    // From here on the execution says nothing more: what it would say comes after this.
    halt(register, run.runId, { kind: "paused" });
    return [...begun(state, run), runPaused(request)];
  });
  if (refusal !== undefined || log.state.status === "paused") return refusal;
  await log.requestPause(request);
  return log.pause === undefined ? refusePause(log, log.state) : undefined;
}

/** Lets a paused run go on; the caller has it executed. */
export async function resumeRun(
  log: RunLog,
  reason: string | undefined,
  resumedBy: string,
): Promise<RunRefusal | undefined> {
  const event: EventDraft = { type: "run.resumed", payload: { reason, resumedBy } };
  let before = log.state;
  const said = await log.append((state) => {
    before = state;
    return state.status === "paused" ? [event] : [];
  });
  return said.length > 0 ? undefined : conflict(before, "the run is not paused");
}

function refusePause({ run }: RunLog, state: RunState): RunRefusal | undefined {
  switch (state.status) {
    case "pending":
    case "running":
      return state.nextSequence < (run.source?.copied ?? 0)
        ? conflict(state, "the run is still being copied from another")
        : undefined;
    case "paused":
      return conflict(state, "the run is paused already");
    case "waiting-approval":
    case "waiting-input":
      return conflict(state, "the run waits for a word, and goes on with that alone");
    case "completed":
    case "failed":
    case "cancelled":
      return conflict(state, "the run is over");
  }
}

function refuseCut(state: RunState, nodeId: string): RunRefusal {
  const message = "an agent's turn is not cut off: drain-current-node pauses behind it";
  return conflict(state, message, { nodeId, unsupportedDrainPolicy: "immediate" });
}

function conflict(
  { status: runStatus, pausedAt }: RunState,
  message: string,
  more: Readonly<Record<string, string>> = {},
): RunRefusal {
  const since = pausedAt === undefined ? {} : { pausedAt };
  const code = isOver(runStatus) ? "run_terminal" : "run_state_conflict";
  return refuseRun(code, message, { runStatus, ...since, ...more });
}
