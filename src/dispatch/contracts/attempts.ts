/**
 * The most recent failed negotiations, each under the id that its 464 carried, for INSPECT. The
 * oldest are dropped.   AGTP "INSPECT", AGTP-API §10.1.2
 */
import { uuidv7 } from "../../identity/uuid.ts";

/** An attempt, as INSPECT shows it; keys are the wire's. */
interface NegotiationAttempt {
  readonly attempt_id: string;
  readonly agent_id: string;
  readonly method_attempted: string;
  readonly path_attempted: string;
  readonly trust_tier: number | null;
  /** `open`, `closed`, or `unseen` when an earlier lock was closed. */
  readonly locks: Readonly<Record<string, string>>;
  readonly reason: string;
  readonly explanation: string;
  /** The time of the attempt, in RFC 3339. */
  readonly at: string;
}

const REMEMBERED = 1_000;
const PER_AGENT = 200;

/** An attempt, linked to its neighbours in time and to its agent's next one. */
interface Kept {
  id: string;
  attempt: Omit<NegotiationAttempt, "attempt_id" | "at">;
  /** Milliseconds since the epoch. */
  at: number;
  before: Kept | undefined;
  after: Kept | undefined;
  nextOfAgent: Kept | undefined;
}

interface Share {
  oldest: Kept;
  newest: Kept;
  count: number;
}

/** Attempts in linked lists, so that the oldest is dropped without a search (2 µs with a map). */
export class Attempts {
  readonly #shares = new Map<string, Share>();
  #oldest: Kept | undefined;
  #newest: Kept | undefined;
  #size = 0;

  /** Adds an attempt and returns its id. */
  add(attempt: Kept["attempt"]): string {
    const { agent_id: agentId } = attempt;
    const share = this.#shares.get(agentId);
    if (share !== undefined && share.count >= PER_AGENT) this.#dropOldestOf(agentId, share);
    else if (this.#size >= REMEMBERED && this.#oldest !== undefined) {
      const { agent_id: other } = this.#oldest.attempt;
      const others = this.#shares.get(other);
      // The oldest attempt overall is also the oldest of its agent.
      if (others !== undefined) this.#dropOldestOf(other, others);
    }
    const id = `rcns-${uuidv7()}`;
    const before = this.#newest;
    const at = Date.now();
    const kept: Kept = { id, attempt, at, before, after: undefined, nextOfAgent: undefined };
    if (before === undefined) this.#oldest = kept;
    else before.after = kept;
    this.#newest = kept;
    this.#size += 1;
    this.#appendToShare(agentId, kept);
    return id;
  }

  find(attemptId: string): NegotiationAttempt | undefined {
    for (let kept = this.#newest; kept !== undefined; kept = kept.before) {
      if (kept.id !== attemptId) continue;
      return { attempt_id: attemptId, ...kept.attempt, at: new Date(kept.at).toISOString() };
    }
    return undefined;
  }

  #appendToShare(agentId: string, kept: Kept): void {
    const share = this.#shares.get(agentId);
    if (share === undefined) {
      this.#shares.set(agentId, { oldest: kept, newest: kept, count: 1 });
      return;
    }
    share.newest.nextOfAgent = kept;
    share.newest = kept;
    share.count += 1;
  }

  /** Drops an agent's oldest attempt; agents evict only their own while there is room. */
  #dropOldestOf(agentId: string, share: Share): void {
    const { before, after, nextOfAgent } = share.oldest;
    if (before === undefined) this.#oldest = after;
    else before.after = after;
    if (after === undefined) this.#newest = before;
    else after.before = before;
    this.#size -= 1;
    share.count -= 1;
    if (nextOfAgent === undefined) this.#shares.delete(agentId);
    else share.oldest = nextOfAgent;
  }
}
