/**
 * A gate: a synchronous decision over tables built at start-up. Also lists the names of all gates.
 */
import type { Exchange } from "../exchange.ts";
import type { Refusal } from "../refusals/refusal.ts";

/** Returns a refusal or nothing. Never throws because of a client's request. */
export type Gate = (exchange: Exchange) => Refusal | undefined;

/** Gates by name, in their order. */
export type Gates = Readonly<Record<string, Gate>>;

/** Combines a row of gates into one, which stops at the first refusal and notes its gate. */
export function rowOf(named: Gates): Gate {
  const names = Object.keys(named);
  const gates = Object.values(named);
  return (exchange) => {
    for (let at = 0; at < gates.length; at += 1) {
      const refusal = gates[at]?.(exchange);
      if (refusal === undefined) continue;
      exchange.refusedBy = names[at];
      return refusal;
    }
    return undefined;
  };
}

/** The gates' names in the order of `dispatcher.ts`. */
export const GATE_NAMES: readonly string[] = [
  ...["caller", "session", "authority", "lifecycle", "rates", "ledger"],
  ...["alias", "method", "path", "policy", "contract", "endpoint", "negotiation"],
  ...["body", "body-session", "task", "input", "scope", "approval"],
];
