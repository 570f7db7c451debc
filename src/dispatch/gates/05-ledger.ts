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
