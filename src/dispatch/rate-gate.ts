/**
 * The other half of gate 00, once it is known who is asking: has this payer had what it may have? Before anything is
 * looked at that costs more, floor methods and built-ins included. What a handler dispatches is not
 * asked again, it only pays.
 * 429 `rate-limited`, with Retry-After   `[limits] work_ms_per_second`, `requests_per_second`
 */
import type { Gate } from "./gates/gate.ts";
import { payerOf } from "./payer.ts";
import type { Rates } from "./rates.ts";
import { rateLimited } from "./refusal.ts";

/** Looks at the accounts of all payers. */
export function rateGate(rates: Rates): Gate {
  return (exchange) => {
    const excess = rates.admit(() => payerOf(exchange).key, exchange.startedAt);
    return excess && rateLimited(excess.scope, excess.retryAfterSeconds);
  };
}
