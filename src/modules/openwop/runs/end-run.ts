/**
 * Ending runs from outside: with a run goes whatever it began, at any depth, since nobody waits for that
 * any more.   OpenWOP "rest-endpoints" §cancel, "interrupt-profiles" parent and child
 */
import { traceOf } from "../../../base/thrown.ts";
import { isOver, type Run, type RunStop } from "./run.ts";
import { type RunEntry, scheduled } from "./run-entry.ts";
import { stopped } from "./run-events.ts";
import type { RunLog } from "./run-log.ts";
import { type Interrupt, openInterrupt } from "./run-state.ts";
import type { RunParts } from "./workflow-runs.ts";

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
  const { register, log: lines, redact } = parts;
  if (parentRunId === undefined) return false;
  if (!isOver(register.find(parentRunId)?.status ?? "cancelled")) return false;
  const ending = register.log(runId, parts).then((log) => log && endOrphan(parts, log));
  ending.catch((error: unknown) => {
    lines.warn({ trace: redact(traceOf(error)), run_id: runId }, "a run could not be ended");
  });
  return true;
}

/** Ends the execution of a run, or its waiting for one. */
export function halt(register: RunParts["register"], runId: string, stop: RunStop): void {
  register.schedule.stop(runId, stop);
  const entry = register.find(runId);
  if (entry !== undefined) register.schedule.remove(scheduled(entry));
}
