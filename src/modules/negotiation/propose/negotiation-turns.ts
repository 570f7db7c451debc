/**
 * Negotiations of several turns: under one Negotiation-ID an agent may be rejected three times,
 * then it has to escalate. Proposals that are not rejected do not count.   AGTP-API §10.3
 */
import { LRUCache } from "lru-cache";
import { uuidv7 } from "../../../identity/uuid.ts";

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

type RejectionsById = LRUCache<string, Rejections>;

export class NegotiationTurns {
  readonly #byAgent = new LRUCache<string, RejectionsById>({ max: REMEMBERED_AGENTS });

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
    const own = this.#byAgent.get(agentId) ?? new LRUCache({ max: PER_AGENT, ttl: TTL_MS });
    this.#byAgent.set(agentId, own);
    return own;
  }
}
