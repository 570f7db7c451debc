/**
 * Every request from outside passes these gates first, also one that is refused already: nothing that
 * costs more is looked at before them.
 * Gate 04. Has the payer had what it may have? A request that a handler dispatches is not counted
 * again, though its work is paid for; nor is one that the API of another protocol has counted. 429
 * `rate-limited`, with Retry-After.
 * `[limits] work_ms_per_second`, `requests_per_second`
 * Gate 05. Does what gates look at hold, and can the answer be recorded? A node that may have missed a
 * change serves nobody. What an agent of this server asks for is recorded, refusals too, or not looked
 * into. 503 `store-unavailable`, `attribution-unavailable`.   AGTP-IDENTIFIERS "Attribution-Record"
 */

import type { Attributor } from "../../state/records/attributor.ts";
import type { ViewLease } from "../../state/state.ts";
import { payerOf } from "../rates/payer.ts";
import type { Rates } from "../rates/rates.ts";
import { rateLimited } from "../refusals/refusal.ts";
import { recordsUnavailable, storeUnavailable } from "../refusals/store-refusals.ts";
import type { Gate } from "./gate.ts";

/** Gate 04: looks at the accounts of all payers. */
export function ratesGate(rates: Rates): Gate {
  return (exchange) => {
    if (exchange.isCounted) return undefined;
    const excess = rates.admit(() => payerOf(exchange).key, exchange.startedAt);
    return excess && rateLimited(excess.scope, excess.retryAfterSeconds);
  };
}

/** Gate 05: looks at the journal; undefined: responses carry no record. */
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
