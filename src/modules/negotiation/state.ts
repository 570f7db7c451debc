/**
 * What negotiation keeps while the server runs, through every reload: contracts and proposals, which
 * are in the store, and what may be forgotten, which is not.
 */

import { RateWindow } from "../../base/rate-window.ts";
import { Attempts } from "../../dispatch/attempts.ts";
import { ContractRegister } from "../../state/contract-register.ts";
import type { Store } from "../../state/store.ts";
import { Negotiations } from "./negotiations.ts";
import { Proposals } from "./proposals.ts";

/** The state of negotiation. */
export interface NegotiationState {
  readonly contracts: ContractRegister;
  readonly proposals: Proposals;
  readonly attempts: Attempts;
  readonly negotiations: Negotiations;
  readonly rate: RateWindow;
}

/** Opens it over a store; tombstones outlive a contract's expiry by so many seconds. */
export async function openNegotiation(
  store: Store,
  tombstoneSeconds: number,
): Promise<NegotiationState> {
  const tombstoneMs = (): number => tombstoneSeconds * 1000;
  return {
    contracts: await ContractRegister.open({ store, tombstoneMs }),
    proposals: await Proposals.open(store),
    attempts: new Attempts(),
    negotiations: new Negotiations(),
    rate: new RateWindow(),
  };
}
