/**
 * Whose sessions are whose: a Session-ID belongs to the agent and the TLS identity that first used
 * it here, and to nobody else while it is remembered: for a day after its last use. Kept for agents of
 * this server only, a bounded number for each; whoever else names one is only compared with its
 * holder.   AGTP "Sessions"
 */
import { flatText } from "../base/flat-text.ts";

/** The user of a session. */
export interface SessionUser {
  /** Undefined for a caller that is nobody. */
  readonly agentId: string | undefined;
  /** The fingerprint of the peer's certificate; undefined without one. */
  readonly tlsIdentity: string | undefined;
  /** True if the agent is one of this server's, for which sessions are kept. */
  readonly isHosted: boolean;
}

/** One session in use. */
export interface Session {
  readonly id: string;
  readonly agentId: string;
  readonly tlsIdentity: string | undefined;
  /** Milliseconds since the epoch. */
  lastActivityAt: number;
}

/** Chosen by tests. */
export interface SessionOptions {
  readonly sessionsPerAgent?: number;
  /** Milliseconds since the epoch. */
  now?(): number;
}

const SESSIONS_PER_AGENT = 1024;
/** How long a session that nobody uses is its holder's. */
const IDLE_MS = 24 * 3_600_000;

export class SessionRegister {
  readonly #sessions = new Map<string, Session>();
  /** By agent, the longest unused first. */
  readonly #bound = new Map<string, Set<Session>>();
  readonly #sessionsPerAgent: number;
  readonly #now: () => number;

  constructor({ sessionsPerAgent = SESSIONS_PER_AGENT, now = Date.now }: SessionOptions = {}) {
    this.#sessionsPerAgent = sessionsPerAgent;
    this.#now = now;
  }

  /** A session that is remembered; undefined for one that nobody has used for a day. */
  find(sessionId: string): Session | undefined {
    const session = this.#sessions.get(sessionId);
    return session === undefined || this.#isIdle(session) ? undefined : session;
  }

  /** Tells whether it may use the session; one that nobody has becomes a hosted agent's own. */
  admit(sessionId: string, { agentId, tlsIdentity, isHosted }: SessionUser): boolean {
    const known = this.find(sessionId);
    if (known === undefined) {
      this.forget(sessionId);
      if (isHosted && agentId !== undefined) this.#bind(sessionId, agentId, tlsIdentity);
      return true;
    }
    if (known.agentId !== agentId || known.tlsIdentity !== tlsIdentity) return false;
    this.#touch(known);
    return true;
  }

  /** The session is nobody's from now on. */
  forget(sessionId: string): void {
    const session = this.#sessions.get(sessionId);
    if (session === undefined) return;
    this.#sessions.delete(sessionId);
    const bound = this.#bound.get(session.agentId);
    bound?.delete(session);
    if (bound?.size === 0) this.#bound.delete(session.agentId);
  }

  #bind(sessionId: string, agentId: string, tlsIdentity: string | undefined): void {
    const names = { id: flatText(sessionId), agentId: flatText(agentId) };
    const session: Session = { ...names, tlsIdentity, lastActivityAt: this.#now() };
    this.#sessions.set(session.id, session);
    const bound = this.#bound.get(session.agentId) ?? new Set();
    this.#bound.set(session.agentId, bound.add(session));
    const [oldest = session] = bound;
    if (bound.size > this.#sessionsPerAgent || this.#isIdle(oldest)) this.forget(oldest.id);
  }

  #touch(session: Session): void {
    session.lastActivityAt = this.#now();
    const bound = this.#bound.get(session.agentId);
    bound?.delete(session);
    bound?.add(session);
  }

  #isIdle({ lastActivityAt }: Session): boolean {
    return this.#now() - lastActivityAt >= IDLE_MS;
  }
}
