/**
 * Pausing a run from outside, letting it go on, and ending it. At once, a node without an effect is cut off
 * and taken up again later; a turn of an agent is never cut off: it is waited for, like any node under
 * `drain-current-node`. With a run that is ended goes whatever it began, at any depth.
 * OpenWOP "rest-endpoints" §pause, §resume, §cancel, "interrupt-profiles" parent and child
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

/** Pauses a run, or has it paused behind its node; undefined: that is how it is now. */
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
    // From here on the execution says nothing more: what it would say comes after this.
    halt(register, run.runId, { kind: "paused" });
    return [...begun(state, run), runPaused(request)];
  });
  try {
    await pausing;
  } catch (error) {
    // It is not paused, and nobody executes it any more.
    register.enqueueLog(log);
    throw error;
  }
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

/** Ends a run that is not over, and what it began; they have ended when this resolves. */
export async function endRun(parts: RunParts, log: RunLog, stop: Cancelling): Promise<void> {
  const { register, watchers } = parts;
  const { run } = log;
  // The end is written here: a node that does not hear the signal cannot put it off.
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

/** Ends what a run began that is over itself. */
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

/** Ends what an earlier process left behind when it ended its parent; whether it is such a run. */
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

/** Ends the execution of a run, or its waiting for one. */
function halt(register: RunParts["register"], runId: string, stop: RunStop): void {
  register.schedule.stop(runId, stop);
  const entry = register.find(runId);
  if (entry !== undefined) register.dequeue(entry);
}
