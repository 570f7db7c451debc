/**
 * Whose sessions are whose: a Session-ID belongs to the agent and the TLS identity that first used
 * it here, and to nobody else while it is remembered. Kept for agents of this server only, a bounded
 * number for each; whoever else names one is only compared with its holder.   AGTP "Sessions"
 */

/** Who uses a session. */
export interface SessionUser {
  /** Undefined for a caller that is nobody. */
  readonly agentId: string | undefined;
  /** The fingerprint of the peer's certificate; undefined without one. */
  readonly tlsIdentity: string | undefined;
  /** Whether the agent is one of this server's, for which sessions are kept. */
  readonly isHosted: boolean;
}

interface Session {
  readonly id: string;
  readonly agentId: string;
  readonly tlsIdentity: string | undefined;
}

const SESSIONS_PER_AGENT = 1024;

export class SessionRegister {
  readonly #sessions = new Map<string, Session>();
  /** By agent, the longest unused first. */
  readonly #bound = new Map<string, Set<Session>>();
  readonly #sessionsPerAgent: number;

  constructor(sessionsPerAgent: number = SESSIONS_PER_AGENT) {
    this.#sessionsPerAgent = sessionsPerAgent;
  }

  /** Whether it may use the session; one that nobody has becomes a hosted agent's own. */
  admit(sessionId: string, { agentId, tlsIdentity, isHosted }: SessionUser): boolean {
    const known = this.#sessions.get(sessionId);
    if (known === undefined) {
      if (isHosted && agentId !== undefined) this.#bind(sessionId, agentId, tlsIdentity);
      return true;
    }
    if (known.agentId !== agentId || known.tlsIdentity !== tlsIdentity) return false;
    this.#touch(known);
    return true;
  }

  #bind(sessionId: string, agentId: string, tlsIdentity: string | undefined): void {
    const session = { id: ownCopy(sessionId), agentId: ownCopy(agentId), tlsIdentity };
    this.#sessions.set(session.id, session);
    const bound = this.#bound.get(session.agentId) ?? new Set();
    this.#bound.set(session.agentId, bound.add(session));
    if (bound.size <= this.#sessionsPerAgent) return;
    const [oldest = session] = bound;
    bound.delete(oldest);
    this.#sessions.delete(oldest.id);
  }

  #touch(session: Session): void {
    const bound = this.#bound.get(session.agentId);
    bound?.delete(session);
    bound?.add(session);
  }
}

/** A string cut from a message keeps the whole message alive; a copy does not. */
function ownCopy(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}
