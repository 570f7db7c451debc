/** Waiting for a run: until it is over, waits for somebody, or nobody waits for it any more. */
import { type Ends, within } from "../../../base/deadline.ts";
import { isHeld, isOver, type RunStatus } from "./run.ts";
import type { RunLog } from "./run-log.ts";

/** Resolves when there is nothing to wait for, or when the wait is ended; never ends the run. */
export async function awaitRun(log: RunLog, wait: Ends): Promise<void> {
  if (wait.timeoutMs !== undefined && wait.timeoutMs <= 0) return;
  await within(wait, async (signal) => {
    while (!signal.aborted && !isAtRest(log.state.status)) {
      await log.changed(log.state.nextSequence - 1, signal);
    }
  });
}

function isAtRest(status: RunStatus): boolean {
  return isOver(status) || isHeld(status);
}
