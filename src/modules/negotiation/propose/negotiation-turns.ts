/**
 * Negotiations of more than one turn: under one Negotiation-ID an agent may be rejected three times,
 * then it has to escalate.   AGTP-API §10.3
 */
import { LRUCache } from "lru-cache";
import { uuidv7 } from "../../../identity/uuid.ts";

/** One negotiation. */
interface Negotiation {
  rejections: number;
}

/** The position of a turn in its negotiation. */
type Turn =
  | { readonly kind: "open"; readonly negotiationId: string; readonly turn: number }
  | { readonly kind: "exhausted"; readonly negotiationId: string }
  | { readonly kind: "unknown" };

const MAX_TURNS = 3;
const REMEMBERED_AGENTS = 10_000;
/** Of each agent, so that nobody drives out what others are about. */
const PER_AGENT = 64;
const TTL_MS = 3_600_000;

type OwnNegotiations = LRUCache<string, Negotiation>;

export class Negotiations {
  readonly #byAgent = new LRUCache<string, OwnNegotiations>({ max: REMEMBERED_AGENTS });

  /** Begins a negotiation, or goes on with the one that is named. */
  turn(agentId: string, negotiationId: string | undefined): Turn {
    if (negotiationId === undefined) {
      const minted = uuidv7();
      this.#ofAgent(agentId).set(minted, { rejections: 0 });
      return { kind: "open", negotiationId: minted, turn: 1 };
    }
    const known = this.#byAgent.get(agentId)?.get(negotiationId);
    if (known === undefined) return { kind: "unknown" };
    if (known.rejections >= MAX_TURNS) return { kind: "exhausted", negotiationId };
    return { kind: "open", negotiationId, turn: known.rejections + 1 };
  }

  /** The proposal of this turn was rejected. */
  reject(agentId: string, negotiationId: string): void {
    const known = this.#byAgent.get(agentId)?.get(negotiationId);
    if (known !== undefined) known.rejections += 1;
  }

  #ofAgent(agentId: string): OwnNegotiations {
    const own = this.#byAgent.get(agentId) ?? new LRUCache({ max: PER_AGENT, ttl: TTL_MS });
    this.#byAgent.set(agentId, own);
    return own;
  }
}
