/**
 * The state of negotiation while the server runs, through every reload, beside contracts:
 * proposals, which are in the store, and what may be forgotten, which is not.
 */

import { type RecentlyUsed, recentlyUsed } from "../../base/recently-used.ts";
import type { RecordEvents } from "../../dispatch/contracts/contract-events.ts";
import type { KeptParts } from "../../dispatch/process-state.ts";
import { RateWindow } from "../../dispatch/rates/rate-window.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import type { Store } from "../../state/store.ts";
import type { NegotiationContext } from "./config.ts";
import type { LateSynthesis } from "./late-synthesis.ts";
import { PendingProposals } from "./propose/pending-proposals.ts";

/** The state of negotiation. */
interface NegotiationState {
  readonly proposals: PendingProposals;
  readonly turns: NegotiationTurns;
  readonly rate: RateWindow;
}

/** Opens it over a store. */
export async function openNegotiation(
  store: Store,
  _clock: unknown,
  { holders, minuteRates: rates }: Pick<KeptParts, "holders" | "minuteRates">,
): Promise<NegotiationState> {
  return {
    proposals: await PendingProposals.open(store, holders),
    turns: new NegotiationTurns(),
    rate: new RateWindow({ name: "negotiation", rates }),
  };
}

/** The parts of a deployment that negotiates: what is kept, what plans are made with, and who hears of contracts. */
export interface NegotiationParts extends NegotiationState {
  readonly context: NegotiationContext;
  readonly prepared: LateSynthesis;
  readonly record: RecordEvents;
}

interface Rejections {
  count: number;
}

/** The next turn of a negotiation, or why there is none. */
type NextTurn =
  | { readonly kind: "open"; readonly negotiationId: string }
  | { readonly kind: "exhausted"; readonly negotiationId: string }
  | { readonly kind: "unknown" };

const MAX_REJECTIONS = 3;
const REMEMBERED_AGENTS = 10_000;
/** The negotiations of one agent that are remembered: it cannot drive out those of others. */
const PER_AGENT = 64;
const TTL_MS = 3_600_000;

type RejectionsById = RecentlyUsed<Rejections>;

export class NegotiationTurns {
  readonly #byAgent = recentlyUsed<RejectionsById>(REMEMBERED_AGENTS);

  /** Begins a negotiation, or goes on with the one that is named. */
  next(agentId: string, negotiationId: string | undefined): NextTurn {
    if (negotiationId === undefined) {
      const minted = uuidv7();
      this.#ofAgent(agentId).set(minted, { count: 0 });
      return { kind: "open", negotiationId: minted };
    }
    const rejections = this.#byAgent.get(agentId)?.get(negotiationId);
    if (rejections === undefined) return { kind: "unknown" };
    const isExhausted = rejections.count >= MAX_REJECTIONS;
    return { kind: isExhausted ? "exhausted" : "open", negotiationId };
  }

  /** Counts a rejection in a negotiation, where it is still known. */
  reject(agentId: string, negotiationId: string): void {
    const rejections = this.#byAgent.get(agentId)?.get(negotiationId);
    if (rejections !== undefined) rejections.count += 1;
  }

  #ofAgent(agentId: string): RejectionsById {
    const own = this.#byAgent.get(agentId) ?? recentlyUsed(PER_AGENT, TTL_MS);
    this.#byAgent.set(agentId, own);
    return own;
  }
}
