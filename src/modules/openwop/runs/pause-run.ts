/**
 * Pauses, resumes and ends runs on request. `immediate` cuts off a node without an effect and retries it later. An
 * agent's turn is never cut off: as with any node under `drain-current-node`, its end is waited for. Ending a run ends
 * all its descendants.   OpenWOP "rest-endpoints" §pause, §resume, §cancel, "interrupt-profiles" parent and child
 */

import { traceOf } from "../../../base/thrown.ts";
import { isEffectful } from "./fork-run.ts";
import {
  type EventDraft,
  isOver,
  type PauseRequest,
  type Run,
  type RunRefusal,
  type RunStop,
  refuseRun,
} from "./run.ts";
import type { RunEntry } from "./run-entry.ts";
import { begun, openNode, runPaused, stopped } from "./run-events.ts";
import type { RunLog } from "./run-log.ts";
import { type Interrupt, openInterrupt, type RunState } from "./run-state.ts";
import type { RunParts } from "./workflow-runs.ts";

/** Pauses a run at once or after its current node; undefined on success. */
export async function pauseRun(
  log: RunLog,
  request: PauseRequest,
  { register, types }: RunParts,
): Promise<RunRefusal | undefined> {
  const { run } = log;
  const isDraining = request.drainPolicy === "drain-current-node";
  let refusal: RunRefusal | undefined;
  const pausing = log.append((state) => {
    const nodeId = openNode(state);
    refusal = refusePause(log, state);
    if (refusal === undefined && nodeId !== undefined && !isDraining) {
      refusal = isEffectful(run, nodeId, types) ? refuseCut(state, nodeId) : undefined;
    }
    if (refusal !== undefined || (isDraining && nodeId !== undefined)) return [];
    // Stops the execution, so that it appends no events after the pause.
    halt(register, run.runId, { kind: "paused" });
    return [...begun(state, run), runPaused(request)];
  });
  try {
    await pausing;
  } catch (error) {
    // The pause was not stored, but the execution was stopped.
    register.enqueueLog(log);
    throw error;
  }
  if (refusal !== undefined || log.state.status === "paused") return refusal;
  await log.requestPause(request);
  return log.pause === undefined ? refusePause(log, log.state) : undefined;
}

/** Resumes a paused run; the caller enqueues it. */
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
      return conflict(state, "the run waits for an answer, and goes on with that alone");
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

type Cancelling = Extract<RunStop, { kind: "cancelled" }>;

/** Ends an unfinished run and its descendants; resolves once they have ended. */
export async function endRun(parts: RunParts, log: RunLog, stop: Cancelling): Promise<void> {
  const { register, watchers } = parts;
  const { run } = log;
  // The end is written here, so that a node that ignores the signal cannot delay it.
  let waiting: Interrupt | undefined;
  await log.append((state) => {
    waiting = openInterrupt(state);
    return stopped(stop, state, run, register.now());
  });
  if (waiting !== undefined) {
    for (const watcher of watchers) watcher.onAnswer(run, waiting, undefined);
  }
  halt(register, run.runId, stop);
  await endChildren(parts, run, stop.by);
}

/** Ends the children of a run that is over. */
export async function endChildren(
  parts: RunParts,
  { runId, owner }: Run,
  by: string = owner.principal,
): Promise<void> {
  const { register } = parts;
  for (const child of register.childrenOf(runId)) {
    const log = isOver(child.status) ? undefined : await register.log(child.runId, parts);
    if (log !== undefined) await endOrphan(parts, log, by);
  }
}

/** Ends a run whose parent is over. */
export function endOrphan(
  parts: RunParts,
  log: RunLog,
  by: string = log.run.owner.principal,
): Promise<void> {
  const { parent } = log.run;
  const whose = parent === undefined ? {} : { parentRunId: parent.runId };
  return endRun(parts, log, { kind: "cancelled", reason: "parent-cancelled", by, ...whose });
}

/** Ends a child whose parent an earlier process ended; true if it is such a run. */
export function takeDown(parts: RunParts, { runId, parentRunId }: RunEntry): boolean {
  const { register, logger, redact } = parts;
  if (parentRunId === undefined) return false;
  if (!isOver(register.find(parentRunId)?.status ?? "cancelled")) return false;
  const ending = register.log(runId, parts).then((log) => log && endOrphan(parts, log));
  ending.catch((error: unknown) => {
    logger.warn({ trace: redact(traceOf(error)), run_id: runId }, "a run could not be ended");
  });
  return true;
}

/** Stops the execution of a run, or removes it from the queue. */
function halt(register: RunParts["register"], runId: string, stop: RunStop): void {
  register.schedule.stop(runId, stop);
  const entry = register.find(runId);
  if (entry !== undefined) register.dequeue(entry);
}
