/** When a process that has been built may say that it serves. */
import type { ViewLease } from "../state/state.ts";

/** Without its store a process is ready all the same, and tells each request so. */
const LONGEST_MS = 10_000;

/**
 * Waits until a process may serve from what it has in memory: on a busy machine its lease ends while it is
 * built, and the next one may be over by the time it is heard of.
 */
export async function awaitLease(view: ViewLease): Promise<void> {
  const until = performance.now() + LONGEST_MS;
  while (!view.isFresh && view.catchUp !== undefined && performance.now() < until) {
    await view.catchUp().catch(() => undefined);
  }
}
