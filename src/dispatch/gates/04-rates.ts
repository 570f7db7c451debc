/**
 * Gate 04. Refuses a request whose payer has had what it may have. Asked of every request from outside, also
 * of one that is refused already, and before anything is looked at that costs more. What a handler
 * dispatches is not asked again, it only pays; nor is what the API of another protocol has counted.
 * 429 `rate-limited`, with Retry-After   `[limits] work_ms_per_second`, `requests_per_second`
 */
import { payerOf } from "../rates/payer.ts";
import type { Rates } from "../rates/rates.ts";
import { rateLimited } from "../refusals/refusal.ts";
import type { Gate } from "./gate.ts";

/** Looks at the accounts of all payers. */
export function ratesGate(rates: Rates): Gate {
  return (exchange) => {
    if (exchange.isAdmitted) return undefined;
    const excess = rates.admit(() => payerOf(exchange).key, exchange.startedAt);
    return excess && rateLimited(excess.scope, excess.retryAfterSeconds);
  };
}
