/**
 * Gate 05. Is this node's state current, and can the answer be recorded? A node that may have
 * missed a change serves nobody. A request of this server's agent is recorded, even if refused;
 * without a writable journal it is not processed at all. 503 `store-unavailable`,
 * `attribution-unavailable`.   AGTP-IDENTIFIERS "Attribution-Record"
 */
import type { Attributor } from "../../state/records/ledger.ts";
import type { ViewLease } from "../../state/state.ts";
import { recordsUnavailable, storeUnavailable } from "../refusals/store-refusals.ts";
import type { Gate } from "./gate.ts";

/** Checks the store's lease and the journal; without an attributor responses carry no record. */
export function ledgerGate(
  attributor: Pick<Attributor, "isWritable" | "isInStore"> | undefined,
  view: ViewLease,
): Gate {
  return ({ caller }) => {
    if (!view.isFresh) return storeUnavailable();
    const isRecorded = attributor !== undefined && caller.document !== undefined;
    return isRecorded && !attributor.isWritable ? recordsUnavailable(attributor) : undefined;
  };
}

/** Returns the wait for a lease; undefined if there is one, or if waiting would be in vain. */
export type LeaseWait = () => Promise<void> | undefined;

/**
 * Creates the wait before a request is refused for an expired lease: a process that was suspended, such as a virtual
 * machine that was migrated, usually catches up within milliseconds. Concurrent requests share one catch-up. After
 * one that failed, no request waits until there was a lease again.
 */
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
