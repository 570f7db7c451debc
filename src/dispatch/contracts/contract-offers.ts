/** Routes of contracts for protocols whose clients see one before it is theirs; registered nowhere. */
import type { Route } from "../routes/route.ts";

/** The routes that make an offer and end it. */
export interface ContractOffers {
  /** PROPOSE, answered with 461 instead of 263: the contract is offered, and nothing is agreed. */
  readonly propose: Route;
  /** The client's word on an offer: `{synthesis_id, decision}`, one of `OfferDecision`. */
  readonly decide: Route;
}

/** `show`: there is no word yet, and the offer is shown again. */
export type OfferDecision = "accept" | "decline" | "show";
