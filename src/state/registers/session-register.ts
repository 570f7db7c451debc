/**
 * Whose sessions are whose: a Session-ID belongs to the agent and the TLS identity that first used
 * it here, and to nobody else until a day after its last use. Kept for agents of this server only, a
 * bounded number for each. A new session is in the store before its first request is answered; its
 * last use is stored every ten minutes, so that being used costs no write.   AGTP "Sessions"
 */
import { flatText } from "../../base/kept-text.ts";
import { Collection } from "../collection.ts";
import type { Quota } from "../quota.ts";
import { recordReader } from "../records/stored-record.ts";
import type { Store } from "../store.ts";

export interface SessionUser {
  /** Undefined for a caller that is nobody. */
  readonly agentId: string | undefined;
  /** The fingerprint of the peer's certificate; undefined without one. */
  readonly tlsIdentity: string | undefined;
  /** True if the agent is one of this server's, for which sessions are kept. */
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
 * False: the session is somebody else's. A promise: it is new, and nothing is done in it before it is
 * stored; false then says that somebody else was faster at another process. It never rejects.
 */
type SessionAdmission = boolean | Promise<boolean>;

/** The surroundings of the register; the limits are chosen by tests alone. */
export interface SessionOptions {
  readonly limits?: Quota;
  /** Milliseconds since the epoch. */
  now?(): number;
  /** Hears why a session could not be stored; it is its holder's all the same. */
  onFault?(error: unknown): void;
}

/** A session as this process uses it. */
interface SessionInUse {
  readonly id: string;
  readonly agentId: string;
  readonly tlsIdentity: string | undefined;
  lastActivityAt: number;
  /** When it was last stored, or that was tried. */
  storedAt: number;
  /** Settled once a new one is stored, or could not be, or is not its user's; undefined from then on. */
  keeping: Promise<boolean> | undefined;
  /** False: the store may have another one of this id, which is over. */
  isStored: boolean;
  /** True if it replaces its agent's own under another certificate. */
  readonly isRebound: boolean;
}

interface StoredSession extends Omit<Session, "tlsIdentity"> {
  readonly tlsIdentity?: string;
}

const PER_AGENT = 1_024;
/** The agent with most makes room, so that no agent pushes out another's. */
const LIMITS: Quota = { perOwner: PER_AGENT, all: 65_536, takesFromLargest: true };
/** How long a session that nobody uses is its holder's. */
const IDLE_MS = 24 * 3_600_000;
/** How much older than its last use a session in the store may be. */
const STORED_EVERY_MS = 10 * 60_000;
const RETRIED_AFTER_MS = 10_000;
/** Last uses that are stored together. */
const GROUP = 1_000;

export class SessionRegister {
  readonly #stored: Collection<StoredSession>;
  /** By Session-ID: those that this process has met, as they are now. */
  readonly #inUse: Map<string, SessionInUse>;
  /** By agent: those that are not in the store yet, the oldest first. */
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
      // The longest unused goes first.
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

  /** A session that is remembered; undefined for one that nobody has used for a day. */
  find(sessionId: string): Session | undefined {
    return this.#find(sessionId);
  }

  /** Tells whether somebody may use the session, and leaves it as it is. */
  isOpenTo(sessionId: string, user: SessionUser): boolean {
    const session = this.#find(sessionId);
    return session === undefined || isUsers(session, user);
  }

  /** Tells whether somebody may use the session; one that nobody has becomes a hosted agent's own. */
  admit(sessionId: string, user: SessionUser): SessionAdmission {
    const session = this.#find(sessionId);
    if (session !== undefined) return isUsers(session, user) && this.#touch(session);
    const { agentId, tlsIdentity, isHosted } = user;
    if (agentId === undefined || !isHosted) return true;
    return this.#bind(sessionId, { agentId, tlsIdentity, isRebound: false });
  }

  /** Makes a session an agent's over another certificate; resolves once that is stored, and holds on every node. */
  async rebind(sessionId: string, agentId: string, tlsIdentity: string | undefined): Promise<void> {
    await this.#bind(sessionId, { agentId, tlsIdentity, isRebound: true });
    if (this.#inUse.get(sessionId)?.isStored === true) await this.#stored.everywhere(sessionId);
  }

  /** Stores the last uses that are not stored yet. */
  async save(): Promise<void> {
    const used = [...this.#inUse.values()].filter(({ id, lastActivityAt }) => {
      const stored = this.#stored.get(id);
      return stored !== undefined && stored.lastActivityAt < lastActivityAt;
    });
    for (let from = 0; from < used.length; from += GROUP) {
      const group = used.slice(from, from + GROUP);
      await this.#stored.putAll(() => {
        // Another process may have bound one to another certificate meanwhile.
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

  /** A session that the store has from before this process. */
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
    // While the store fails, an agent has no more of them than the store would keep.
    if (unstored.size > this.#perAgent) this.#letGo(oldest);
    session.keeping = this.#store(session).finally(() => {
      session.keeping = undefined;
    });
    return session.keeping;
  }

  /** False: it is somebody else's. Never rejects: what could not be stored is tried again with a later use. */
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
        // Another process has swept away the one of a day before.
        if (item === undefined) await this.#stored.add(id, toStored(session));
      }
      this.#settled(session);
      session.isStored = true;
      // Somebody else who writes to the store was faster.
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
