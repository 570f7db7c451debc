/**
 * A short wait for an expired lease, before a request is refused for it: a process that was suspended, such as a
 * virtual machine that was migrated, usually catches up within milliseconds.
 */
import type { ViewLease } from "./state.ts";

/** Returns the wait for a lease; undefined if there is one, or if waiting would be in vain. */
export type LeaseWait = () => Promise<void> | undefined;

/** Concurrent requests share one catch-up. After one that failed, no request waits until there was a lease again. */
export function createLeaseWait(view: Pick<ViewLease, "isFresh" | "catchUp">): LeaseWait {
  let isHopeful = true;
  let waiting: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    await view.catchUp?.().catch(() => undefined);
    isHopeful = view.isFresh;
    waiting = undefined;
  };
  return () => {
    if (view.isFresh) {
      isHopeful = true;
      return undefined;
    }
    if (!isHopeful || view.catchUp === undefined) return undefined;
    waiting ??= look();
    return waiting;
  };
}
