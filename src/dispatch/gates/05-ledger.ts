/**
 * Gate 05. Does what gates look at hold, and can the answer be recorded? A node that may have missed a
 * change serves nobody. What an agent of this server asks for is recorded, refusals too, or not looked into.
 * 503 `store-unavailable`, `attribution-unavailable`.   AGTP-IDENTIFIERS "Attribution-Record"
 */
import type { Attributor } from "../../state/records/ledger.ts";
import type { ViewLease } from "../../state/state.ts";
import { recordsUnavailable, storeUnavailable } from "../refusals/store-refusals.ts";
import type { Gate } from "./gate.ts";

/** Looks at the journal; undefined: responses carry no record. */
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
