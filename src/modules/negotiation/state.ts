/**
 * The state of negotiation besides contracts, kept across reloads: proposals, and negotiations' turns, which any worker
 * or node can continue.
 */

import type { ForwardClock } from "../../base/forward-clock.ts";
import type { RecordEvents } from "../../dispatch/contracts/contract-events.ts";
import type { KeptParts } from "../../dispatch/process-state.ts";
import { RateWindow } from "../../dispatch/rates/rate-window.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import { Collection } from "../../state/collection.ts";
import { createMemoryStore } from "../../state/memory-store.ts";
import type { Quota } from "../../state/quota.ts";
import { recordReader } from "../../state/records/stored-record.ts";
import type { Store } from "../../state/store.ts";
import type { NegotiationContext } from "./config.ts";
import type { LateSynthesis } from "./late-synthesis.ts";
import { PendingProposals } from "./propose/pending-proposals.ts";

interface NegotiationState {
  readonly proposals: PendingProposals;
  /** Negotiations of known agents. */
  readonly turns: NegotiationTurns;
  /** Negotiations of unknown agents, held in memory only. */
  readonly turnsOfStrangers: NegotiationTurns;
  readonly rate: RateWindow;
}

/** Opens the stored state of negotiations. */
export async function openNegotiation(
  store: Store,
  { now }: Pick<ForwardClock, "now">,
  { holders, minuteRates: rates }: Pick<KeptParts, "holders" | "minuteRates">,
): Promise<NegotiationState> {
  return {
    proposals: await PendingProposals.open(store, holders),
    turns: await NegotiationTurns.open(store, now),
    turnsOfStrangers: await NegotiationTurns.open(createMemoryStore(), now),
    rate: new RateWindow({ name: "negotiation", rates }),
  };
}

/** The dependencies of a negotiating deployment: state, synthesis and the audit of contracts. */
export interface NegotiationParts extends NegotiationState {
  readonly context: NegotiationContext;
  readonly lateSynthesis: LateSynthesis;
  readonly record: RecordEvents;
}

interface NegotiationSoFar {
  readonly agentId: string;
  readonly rejections: number;
  /** Pending proposals among the rejections; each may be evaluated again. */
  readonly rejectedIds?: readonly string[];
  /** The start of the negotiation, in milliseconds since the epoch. */
  readonly at: number;
}

/** A negotiation's next turn, or why there is none. */
type NextTurn =
  | { readonly kind: "open"; readonly negotiationId: string }
  | { readonly kind: "exhausted"; readonly negotiationId: string }
  | { readonly kind: "unknown" };

const MAX_REJECTIONS = 3;
/** Bounded per owner, so that one agent cannot displace others' negotiations. */
const LIMITS: Quota = { perOwner: 64, all: 65_536, takesFromLargest: true };
const TTL_MS = 3_600_000;

export class NegotiationTurns {
  readonly #kept: Collection<NegotiationSoFar>;

  private constructor(kept: Collection<NegotiationSoFar>) {
    this.#kept = kept;
  }

  static async open(store: Store, now: () => number): Promise<NegotiationTurns> {
    const kept = await Collection.open<NegotiationSoFar>(store, {
      name: "negotiations",
      read: recordReader<NegotiationSoFar>({
        agentId: "string",
        rejections: "number",
        at: "number",
      }),
      ownerOf: ({ agentId }) => agentId,
      orderOf: ({ at }) => at,
      forgottenAt: ({ at }) => at + TTL_MS,
      quota: LIMITS,
      now,
    });
    return new NegotiationTurns(kept);
  }

  /** Starts a negotiation, or continues the given one. */
  async next(agentId: string, negotiationId: string | undefined): Promise<NextTurn> {
    if (negotiationId === undefined) {
      const minted = uuidv7();
      await this.#kept.add(minted, { agentId, rejections: 0, at: this.#kept.now() });
      return { kind: "open", negotiationId: minted };
    }
    // The previous turn may have been on another node.
    await this.#kept.refresh();
    const known = this.#kept.get(negotiationId);
    if (known?.agentId !== agentId) return { kind: "unknown" };
    const isExhausted = known.rejections >= MAX_REJECTIONS;
    return { kind: isExhausted ? "exhausted" : "open", negotiationId };
  }

  /**
   * Counts a rejection if the negotiation is still known; a pending proposal's counts once, however often it is
   * evaluated. Returns true if concurrent turns exceed the limit with this one.
   */
  async reject(negotiationId: string, proposalId?: string): Promise<boolean> {
    let isBeyond = false;
    await this.#kept.change(negotiationId, (one) => {
      const { rejections, rejectedIds = [] } = one;
      const isCounted = proposalId !== undefined && rejectedIds.includes(proposalId);
      isBeyond = !isCounted && rejections >= MAX_REJECTIONS;
      if (isCounted || isBeyond) return undefined;
      const counted = { ...one, rejections: rejections + 1 };
      return proposalId === undefined
        ? counted
        : { ...counted, rejectedIds: [...rejectedIds, proposalId] };
    });
    return isBeyond;
  }
}
