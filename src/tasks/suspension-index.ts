/** The suspensions in memory: by id, by who has how many, by the session that is held, by nonce. */
import { type HoldingLimits, Holdings } from "./holdings.ts";
import { type Suspension, type SuspensionState, suspensionStateAt } from "./suspension.ts";

/** What goes first when room is needed: spent nonces. What waits to be resumed never goes. */
const RANKS: Readonly<Record<SuspensionState, number | undefined>> = {
  suspended: undefined,
  resumed: 0,
  expired: 1,
  ended: 1,
};

export class SuspensionIndex {
  /** The oldest first. */
  readonly #suspensions = new Map<string, Suspension>();
  readonly #holds = new Map<string, Suspension>();
  readonly #nonces = new Map<string, string>();
  readonly #holdings: Holdings;

  constructor(limits: HoldingLimits) {
    this.#holdings = new Holdings(limits);
  }

  has(suspensionId: string): boolean {
    return this.#suspensions.has(suspensionId);
  }

  all(): readonly Suspension[] {
    return [...this.#suspensions.values()];
  }

  /** What keeps a session from being used. */
  holdOf(sessionId: string): Suspension | undefined {
    return this.#holds.size === 0 ? undefined : this.#holds.get(sessionId);
  }

  /** The suspension that a nonce was made for, spent or not. */
  ofNonce(nonceHash: string): Suspension | undefined {
    const suspensionId = this.#nonces.get(nonceHash);
    return suspensionId === undefined ? undefined : this.#suspensions.get(suspensionId);
  }

  /** What goes for one more of an agent; undefined: there is no room. */
  surplus(agentId: string, now: number, isOpen: boolean): readonly string[] | undefined {
    const rankOf = (id: string): number | undefined => {
      const suspension = this.#suspensions.get(id);
      return suspension === undefined ? 0 : RANKS[suspensionStateAt(suspension, now)];
    };
    return this.#holdings.surplus(agentId, rankOf, isOpen);
  }

  /** Takes in a new one, or what one has become. A later one of the same session takes its place. */
  set(suspension: Suspension): void {
    const { suspensionId, sessionId, agentId, nonceHash, state } = suspension;
    const isNew = !this.#suspensions.has(suspensionId);
    this.#suspensions.set(suspensionId, suspension);
    if (isNew) this.#holdings.add(agentId, suspensionId);
    if (nonceHash !== undefined) this.#nonces.set(nonceHash, suspensionId);
    if (state === "resumed") this.#endHold(suspension);
    else this.#holds.set(sessionId, suspension);
  }

  delete(suspensionId: string): void {
    const suspension = this.#suspensions.get(suspensionId);
    if (suspension === undefined) return;
    this.#suspensions.delete(suspensionId);
    this.#holdings.delete(suspensionId);
    if (suspension.nonceHash !== undefined) this.#nonces.delete(suspension.nonceHash);
    this.#endHold(suspension);
  }

  #endHold({ suspensionId, sessionId }: Suspension): void {
    if (this.#holds.get(sessionId)?.suspensionId === suspensionId) this.#holds.delete(sessionId);
  }
}
