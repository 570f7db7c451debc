/**
 * The state of negotiation while the server runs, through every reload, beside contracts:
 * proposals, which are in the store, and what may be forgotten, which is not.
 */

import type { KeptParts } from "../../dispatch/process-state.ts";
import { RateWindow } from "../../dispatch/rates/rate-window.ts";
import type { Store } from "../../state/store.ts";
import { NegotiationTurns } from "./propose/negotiation-turns.ts";
import { PendingProposals } from "./propose/pending-proposals.ts";

/** The state of negotiation. */
export interface NegotiationState {
  readonly proposals: PendingProposals;
  readonly turns: NegotiationTurns;
  readonly rate: RateWindow;
}

/** Opens it over a store. */
export async function openNegotiation(
  store: Store,
  _: unknown,
  { holders, minuteRates: rates }: Pick<KeptParts, "holders" | "minuteRates">,
): Promise<NegotiationState> {
  return {
    proposals: await PendingProposals.open(store, holders),
    turns: new NegotiationTurns(),
    rate: new RateWindow({ name: "negotiation", rates }),
  };
}
