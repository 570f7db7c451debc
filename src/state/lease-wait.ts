/**
 * A short wait for a lease that has ended, before a request is refused for it: a process that was held for longer,
 * such as a virtual machine that was moved, is told within milliseconds what it has missed.
 */
import type { ViewLease } from "./state.ts";

/** Returns the wait that a request is worth; undefined if there is a lease, or no hope for one. */
export type LeaseWait = () => Promise<void> | undefined;

/** All requests of one moment wait for one look. After a look in vain nobody waits, until there has been a lease again. */
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
