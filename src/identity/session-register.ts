/**
 * Whose sessions are whose: a Session-ID belongs to the agent and the TLS identity that first used
 * it here, and to nobody else while it is remembered. Kept for agents of this server only, a bounded
 * number for each.   AGTP "Sessions"
 */

/** Who uses a session. */
export interface SessionHolder {
  readonly agentId: string;
  /** The fingerprint of the peer's certificate; undefined without one. */
  readonly tlsIdentity: string | undefined;
}

const SESSIONS_PER_AGENT = 1024;

export class SessionRegister {
  readonly #holders = new Map<string, SessionHolder>();
  /** By agent, the longest unused first. */
  readonly #sessions = new Map<string, Set<string>>();
  readonly #sessionsPerAgent: number;

  constructor(sessionsPerAgent: number = SESSIONS_PER_AGENT) {
    this.#sessionsPerAgent = sessionsPerAgent;
  }

  /** Whether this holder may use the session; a session that nobody has becomes its own. */
  admit(sessionId: string, holder: SessionHolder): boolean {
    const known = this.#holders.get(sessionId);
    if (known === undefined) this.#bind(ownCopy(sessionId), holder);
    else if (known.agentId !== holder.agentId) return false;
    else if (known.tlsIdentity !== holder.tlsIdentity) return false;
    else this.#touch(sessionId, known.agentId);
    return true;
  }

  #bind(sessionId: string, { agentId, tlsIdentity }: SessionHolder): void {
    const owner = ownCopy(agentId);
    this.#holders.set(sessionId, { agentId: owner, tlsIdentity });
    const sessions = this.#sessions.get(owner) ?? new Set();
    this.#sessions.set(owner, sessions.add(sessionId));
    if (sessions.size <= this.#sessionsPerAgent) return;
    const [oldest = ""] = sessions;
    sessions.delete(oldest);
    this.#holders.delete(oldest);
  }

  #touch(sessionId: string, agentId: string): void {
    const sessions = this.#sessions.get(agentId);
    sessions?.delete(sessionId);
    sessions?.add(sessionId);
  }
}

/** A string cut from a message keeps the whole message alive; a copy does not. */
function ownCopy(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}
