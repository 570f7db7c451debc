/**
 * Gate 04. Is the payer within its rates? Every request from outside passes here before anything
 * dearer, even a refused one. An inner dispatch is not counted again, though its work is charged;
 * nor is a request that another protocol's API has counted. 429 `rate-limited`, with Retry-After.
 * `[limits] work_ms_per_second`, `requests_per_second`
 */
import { payerOf, type Rates } from "../rates/rates.ts";
import { rateLimited } from "../refusals/refusal.ts";
import type { Gate } from "./gate.ts";

/** Checks the account of the request's payer. */
export function ratesGate(rates: Rates): Gate {
  return (exchange) => {
    if (exchange.isCounted) return undefined;
    const excess = rates.admit(() => payerOf(exchange).key, exchange.startedAt);
    return excess && rateLimited(excess.scope, excess.retryAfterSeconds);
  };
}
