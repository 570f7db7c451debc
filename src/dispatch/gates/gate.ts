/**
 * A gate: a synchronous decision over tables built at start-up. The names of all gates stand here, too.
 */
import type { Exchange } from "../exchange.ts";
import type { Refusal } from "../refusals/refusal.ts";

/** Answers with a refusal or with nothing. It never throws for what a client did. */
export type Gate = (exchange: Exchange) => Refusal | undefined;

/** The names of the gates in the order in which they are asked; `dispatcher.ts` lists them so. */
export const GATE_NAMES: readonly string[] = [
  ...["caller", "session", "authority", "lifecycle", "rates", "ledger"],
  ...["alias", "method", "path", "policy", "contract", "endpoint", "negotiation"],
  ...["body", "body-session", "task", "input", "scope", "approval"],
];
