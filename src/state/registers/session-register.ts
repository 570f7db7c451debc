/**
 * Ownership of sessions: a Session-ID belongs to the agent and the TLS identity that first used it here, until a day
 * after its last use. Kept only for agents of this server, a bounded number for each. A new session is stored before
 * its first request is answered; its last use is stored every ten minutes, so that using it costs no write. AGTP
 * "Sessions"
 */
import { flatText } from "../../base/kept-text.ts";
import { Collection } from "../collection.ts";
import type { Quota } from "../quota.ts";
import { recordReader } from "../records/stored-record.ts";
import type { Store } from "../store.ts";

export interface SessionUser {
  /** Undefined for an unidentified caller. */
  readonly agentId: string | undefined;
  /** The fingerprint of the peer's certificate; undefined without one. */
  readonly tlsIdentity: string | undefined;
  /** True if this server hosts the agent, and so keeps its sessions. */
  readonly isHosted: boolean;
}

interface Session {
  readonly agentId: string;
  /** Undefined: it is used without a certificate. */
  readonly tlsIdentity: string | undefined;
  /** Milliseconds since the epoch. */
  readonly lastActivityAt: number;
}

/**
 * False: the session belongs to someone else. A promise: it is new, and must be stored before it is used; it
 * resolves with false if another process was faster, and never rejects.
 */
type SessionAdmission = boolean | Promise<boolean>;

/** The clock of the register; only tests set limits. */
export interface SessionOptions {
  readonly limits?: Quota;
  /** Milliseconds since the epoch. */
  now?(): number;
  /** Called when a session could not be stored; it is valid all the same. */
  onFault?(error: unknown): void;
}

/** A session as this process uses it. */
interface SessionInUse {
  readonly id: string;
  readonly agentId: string;
  readonly tlsIdentity: string | undefined;
  lastActivityAt: number;
  /** When it was last stored, or last tried. */
  storedAt: number;
  /** Pending while a new session is being stored; resolves with false if it belongs to someone else. */
  keeping: Promise<boolean> | undefined;
  /** False if the stored session of this id, if any, is an earlier one that has expired. */
  isStored: boolean;
  /** True if it moves the agent's own session to another certificate. */
  readonly isRebound: boolean;
}

interface StoredSession extends Omit<Session, "tlsIdentity"> {
  readonly tlsIdentity?: string;
}

const PER_AGENT = 1_024;
/** The agent with the most sessions loses its own, so that no agent evicts another's. */
const LIMITS: Quota = { perOwner: PER_AGENT, all: 65_536, takesFromLargest: true };
/** How long an unused session stays its owner's. */
const IDLE_MS = 24 * 3_600_000;
/** How far a stored last use may lag behind. */
const STORED_EVERY_MS = 10 * 60_000;
const RETRIED_AFTER_MS = 10_000;
/** Last uses stored per commit. */
const GROUP = 1_000;

export class SessionRegister {
  readonly #stored: Collection<StoredSession>;
  /** By Session-ID: the sessions this process has seen, in their current state. */
  readonly #inUse: Map<string, SessionInUse>;
  /** By agent: the sessions not stored yet, oldest first. */
  readonly #unstored = new Map<string, Set<SessionInUse>>();
  readonly #perAgent: number;
  readonly #onFault: (error: unknown) => void;

  private constructor(
    stored: Collection<StoredSession>,
    inUse: Map<string, SessionInUse>,
    { limits, onFault = () => undefined }: SessionOptions,
  ) {
    this.#stored = stored;
    this.#inUse = inUse;
    this.#perAgent = limits?.perOwner ?? PER_AGENT;
    this.#onFault = onFault;
  }

  static async open(store: Store, options: SessionOptions = {}): Promise<SessionRegister> {
    const { limits, now = Date.now } = options;
    const inUse = new Map<string, SessionInUse>();
    const lastUseOf = (stored: StoredSession, id: string): number => {
      const used = inUse.get(id);
      if (used === undefined) return stored.lastActivityAt;
      const isSame = used.isStored || isHeldBy(stored, used);
      // Another process may have used it later.
      return isSame ? Math.max(used.lastActivityAt, stored.lastActivityAt) : stored.lastActivityAt;
    };
    const stored = await Collection.open<StoredSession>(store, {
      name: "sessions",
      read: readSession,
      ownerOf: ({ agentId }) => agentId,
      orderOf: ({ lastActivityAt }) => lastActivityAt,
      forgottenAt: (session, id) => lastUseOf(session, id) + IDLE_MS - 1,
      quota: { ...LIMITS, ...limits },
      // The longest unused is evicted first.
      rankOf: (session, _, id) => lastUseOf(session, id),
      onChange: (_, after, id) => {
        const used = inUse.get(id);
        if (used === undefined) return;
        if (after !== undefined && isHeldBy(after, used)) {
          used.lastActivityAt = Math.max(used.lastActivityAt, after.lastActivityAt);
        } else if (used.keeping === undefined) inUse.delete(id);
      },
      now,
    });
    return new SessionRegister(stored, inUse, options);
  }

  /** Returns a known session; undefined once it is unused for a day. */
  find(sessionId: string): Session | undefined {
    return this.#find(sessionId);
  }

  /** True if the user may use the session; changes nothing. */
  isOpenTo(sessionId: string, user: SessionUser): boolean {
    const session = this.#find(sessionId);
    return session === undefined || isUsers(session, user);
  }

  /** Decides if the user may use the session; an unowned one becomes the hosted agent's own. */
  admit(sessionId: string, user: SessionUser): SessionAdmission {
    const session = this.#find(sessionId);
    if (session !== undefined) return isUsers(session, user) && this.#touch(session);
    const { agentId, tlsIdentity, isHosted } = user;
    if (agentId === undefined || !isHosted) return true;
    return this.#bind(sessionId, { agentId, tlsIdentity, isRebound: false });
  }

  /** Moves a session to another certificate of its agent; resolves once that is stored and known to every node. */
  async rebind(sessionId: string, agentId: string, tlsIdentity: string | undefined): Promise<void> {
    await this.#bind(sessionId, { agentId, tlsIdentity, isRebound: true });
    if (this.#inUse.get(sessionId)?.isStored === true) await this.#stored.everywhere(sessionId);
  }

  /** Stores pending last uses. */
  async save(): Promise<void> {
    const used = [...this.#inUse.values()].filter(({ id, lastActivityAt }) => {
      const stored = this.#stored.get(id);
      return stored !== undefined && stored.lastActivityAt < lastActivityAt;
    });
    for (let from = 0; from < used.length; from += GROUP) {
      const group = used.slice(from, from + GROUP);
      await this.#stored.putAll(() => {
        // Another process may have moved one to another certificate meanwhile.
        const left = group.filter((session) => {
          const stored = this.#stored.get(session.id);
          return stored !== undefined && isHeldBy(stored, session);
        });
        return new Map(left.map((session) => [session.id, toStored(session)]));
      });
    }
  }

  #find(sessionId: string): SessionInUse | undefined {
    const session = this.#inUse.get(sessionId) ?? this.#recall(sessionId);
    if (session === undefined) return undefined;
    return this.#stored.now() - session.lastActivityAt >= IDLE_MS ? undefined : session;
  }

  /** Returns a session stored before this process met it. */
  #recall(sessionId: string): SessionInUse | undefined {
    const stored = this.#stored.get(sessionId);
    if (stored === undefined) return undefined;
    const { agentId, tlsIdentity, lastActivityAt } = stored;
    const id = flatText(sessionId);
    const known = { id, agentId, tlsIdentity, lastActivityAt, storedAt: lastActivityAt };
    const how = { keeping: undefined, isStored: true, isRebound: false };
    const session: SessionInUse = { ...known, ...how };
    this.#inUse.set(id, session);
    return session;
  }

  #touch(session: SessionInUse): SessionAdmission {
    const now = this.#stored.now();
    session.lastActivityAt = now;
    if (session.keeping !== undefined) return session.keeping;
    if (now - session.storedAt >= STORED_EVERY_MS) void this.#store(session);
    return true;
  }

  #bind(
    sessionId: string,
    { agentId, ...holder }: Pick<SessionInUse, "agentId" | "tlsIdentity" | "isRebound">,
  ): Promise<boolean> {
    const now = this.#stored.now();
    const names = { id: flatText(sessionId), agentId: flatText(agentId), ...holder };
    const times = { lastActivityAt: now, storedAt: now };
    const session: SessionInUse = { ...names, ...times, keeping: undefined, isStored: false };
    this.#inUse.set(session.id, session);
    const unstored = this.#unstored.get(agentId) ?? new Set();
    this.#unstored.set(session.agentId, unstored.add(session));
    const [oldest = session] = unstored;
    // While the store fails, an agent has no more pending sessions than the store would keep.
    if (unstored.size > this.#perAgent) this.#letGo(oldest);
    session.keeping = this.#store(session).finally(() => {
      session.keeping = undefined;
    });
    return session.keeping;
  }

  /** Stores a session; false if it belongs to someone else. Never rejects: a failed write is retried at a later use. */
  async #store(session: SessionInUse): Promise<boolean> {
    const { id, agentId, isRebound } = session;
    session.storedAt = session.lastActivityAt;
    try {
      const { kind } = await this.#stored.add(id, toStored(session));
      if (kind === "taken") {
        const { item } = await this.#stored.change(id, (one) => {
          const isOwn = isRebound ? one.agentId === agentId : isHeldBy(one, session);
          return isOwn ? toStored(session) : undefined;
        });
        // Another process has deleted the expired one.
        if (item === undefined) await this.#stored.add(id, toStored(session));
      }
      this.#settled(session);
      session.isStored = true;
      // Another writer was faster.
      const kept = this.#stored.get(id);
      if (kept === undefined || !isHeldBy(kept, session)) this.#letGo(session);
      return kept === undefined || isHeldBy(kept, session);
    } catch (error) {
      session.storedAt += RETRIED_AFTER_MS - STORED_EVERY_MS;
      this.#onFault(error);
      return true;
    }
  }

  #settled(session: SessionInUse): void {
    const unstored = this.#unstored.get(session.agentId);
    unstored?.delete(session);
    if (unstored?.size === 0) this.#unstored.delete(session.agentId);
  }

  #letGo(session: SessionInUse): void {
    this.#settled(session);
    if (this.#inUse.get(session.id) === session) this.#inUse.delete(session.id);
  }
}

function isUsers(session: Session, { agentId, tlsIdentity }: SessionUser): boolean {
  return session.agentId === agentId && session.tlsIdentity === tlsIdentity;
}

function isHeldBy(
  { agentId, tlsIdentity }: StoredSession,
  holder: Pick<Session, "agentId" | "tlsIdentity">,
): boolean {
  return agentId === holder.agentId && tlsIdentity === holder.tlsIdentity;
}

function toStored({ agentId, tlsIdentity, lastActivityAt }: Session): StoredSession {
  return { agentId, lastActivityAt, ...(tlsIdentity === undefined ? {} : { tlsIdentity }) };
}

const readSession = recordReader<StoredSession>({ agentId: "string", lastActivityAt: "number" });
