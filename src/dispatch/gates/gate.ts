/**
 * A gate: a synchronous decision over tables built at start-up. The names of all gates stand here, too.
 */
import type { Exchange } from "../exchange.ts";
import type { Refusal } from "../refusals/refusal.ts";

/** Answers with a refusal or with nothing. It never throws for what a client did. */
export type Gate = (exchange: Exchange) => Refusal | undefined;

/** Gates by their names, in their order. */
export type Gates = Readonly<Record<string, Gate>>;

/** The gates of a row as one: the first refusal is its own, and no gate behind that is asked. */
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

/** The names of the gates in the order in which they are asked; `dispatcher.ts` lists them so. */
export const GATE_NAMES: readonly string[] = [
  ...["caller", "session", "authority", "lifecycle", "rates", "ledger"],
  ...["alias", "method", "path", "policy", "contract", "endpoint", "negotiation"],
  ...["body", "body-session", "task", "input", "scope", "approval"],
];
