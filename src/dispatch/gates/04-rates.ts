/**
 * Gate 04. Has the payer had what it may have? Every request from outside passes here, also one that is
 * refused already: nothing that costs more is looked at before. A request that a handler dispatches is not
 * counted again, though its work is paid for; nor is one that the API of another protocol has counted.
 * 429 `rate-limited`, with Retry-After.   `[limits] work_ms_per_second`, `requests_per_second`
 */
import { payerOf, type Rates } from "../rates/rates.ts";
import { rateLimited } from "../refusals/refusal.ts";
import type { Gate } from "./gate.ts";

/** Looks at the accounts of all payers. */
export function ratesGate(rates: Rates): Gate {
  return (exchange) => {
    if (exchange.isCounted) return undefined;
    const excess = rates.admit(() => payerOf(exchange).key, exchange.startedAt);
    return excess && rateLimited(excess.scope, excess.retryAfterSeconds);
  };
}
