/** Waiting for a run: until it is over, waits for somebody, or nobody waits for it any more. */
import { isHeld, isOver, type RunStatus } from "./run.ts";
import type { RunLog } from "./run-log.ts";

/** Resolves when there is nothing to wait for, at the latest after `waitMs`; never ends the run. */
export async function awaitRun(log: RunLog, waitMs: number, signal: AbortSignal): Promise<void> {
  if (waitMs <= 0) return;
  const end = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
  while (!end.aborted && !isAtRest(log.state.status)) {
    await log.changed(log.state.nextSequence - 1, end);
  }
}

function isAtRest(status: RunStatus): boolean {
  return isOver(status) || isHeld(status);
}
