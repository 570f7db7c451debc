/**
 * Sessions that may not be used: suspended ones, until their agent returns with the nonce, and ended ones. Each
 * nonce works once, even for concurrent requests. Every change is known to every node before it is announced;
 * checkpoints have a collection of their own.   AGTP "SUSPEND", "RESUME"
 */
import { uuidv7 } from "../../identity/uuid.ts";
import { Collection } from "../collection.ts";
import type { Quota } from "../quota.ts";
import { recordReader } from "../records/stored-record.ts";
import type { Change, Store } from "../store.ts";
import {
  hashNonce,
  mintNonce,
  type Suspension,
  type SuspensionState,
  suspensionStateAt,
} from "./suspension.ts";

export type HaltedSession = Pick<Suspension, "sessionId" | "agentId" | "tlsIdentity" | "reason">;

/** The outcome of suspending or ending a session. */
type Halting =
  | { readonly kind: "halted"; readonly suspension: Suspension }
  /** It is suspended or ended already. */
  | { readonly kind: "held"; readonly suspension: Suspension }
  /** The agent, or the server, has too many. */
  | { readonly kind: "full" };

/** A request to resume a session. */
interface Resumption {
  readonly agentId: string;
  readonly nonce: string;
  /** True if this suspension is meant, and may be resumed over this connection. */
  isAdmitted(suspension: Suspension): boolean;
}

type Resuming =
  | { readonly kind: "resumed"; readonly suspension: Suspension; readonly checkpoint: unknown }
  | { readonly kind: "reused" | "expired" | "ended"; readonly suspension: Suspension }
  /** No suspension of this agent has this nonce. */
  | { readonly kind: "unknown" };

/** The clock of the register; only tests set limits. */
interface SuspensionOptions {
  readonly limits?: Quota;
  /** Milliseconds since the epoch. */
  now?(): number;
}

const CHECKPOINTS = "session-checkpoints";
const LIMITS: Quota = { openPerOwner: 64, perOwner: 256, open: 4_096, all: 8_192 };
/** How long a spent nonce and an ended session are remembered. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** Spent nonces are evicted first, suspended sessions never. */
const RANKS: Readonly<Record<SuspensionState, number | undefined>> = {
  suspended: undefined,
  resumed: 0,
  expired: 1,
  ended: 1,
};

export class SuspensionRegister {
  readonly #store: Store;
  readonly #suspensions: Collection<Suspension>;

  private constructor(store: Store, suspensions: Collection<Suspension>) {
    this.#store = store;
    this.#suspensions = suspensions;
  }

  static async open(store: Store, options: SuspensionOptions): Promise<SuspensionRegister> {
    const { limits, now = Date.now } = options;
    const suspensions = await Collection.open(store, {
      name: "suspended-sessions",
      read: readSuspension,
      ownerOf: ({ agentId }) => agentId,
      orderOf: ({ suspendedAt }) => suspendedAt,
      indexes: {
        hold: ({ sessionId, state }) => (state === "resumed" ? undefined : sessionId),
        nonce: ({ nonceHash }) => nonceHash,
      },
      quota: { ...LIMITS, ...limits },
      rankOf: (one, at) => RANKS[suspensionStateAt(one, at)],
      // An expired one may be evicted before it is closed.
      changesOnDelete: (_, id) => [withoutCheckpoint(id)],
      now,
    });
    return new SuspensionRegister(store, suspensions);
  }

  /** Returns milliseconds since the epoch by the clock that decides expiry. */
  now(): number {
    return this.#suspensions.now();
  }

  /** Returns the current suspension or end that keeps a session from being used. */
  holdOf(sessionId: string): Suspension | undefined {
    if (this.#suspensions.size === 0) return undefined;
    const suspension = this.#suspensions.find("hold", sessionId);
    if (suspension === undefined) return undefined;
    const state = this.#stateOf(suspension);
    return state === suspension.state ? suspension : { ...suspension, state };
  }

  /** Suspends a session. The nonce to resume it is returned here, and never again. */
  async suspend(
    session: HaltedSession & Pick<Suspension, "resumeBy">,
    checkpoint: unknown,
  ): Promise<Halting & { readonly nonce: string }> {
    const nonce = mintNonce();
    const nonceHash = hashNonce(nonce);
    const halting = await this.#begin({ ...session, nonceHash, state: "suspended" }, checkpoint);
    return { ...halting, nonce };
  }

  /** Ends a session, suspended or not; it cannot be resumed. */
  async end(session: HaltedSession): Promise<Halting> {
    const ended = { ...session, resumeBy: this.#suspensions.now(), state: "ended" } as const;
    const halting = await this.#begin(ended, undefined);
    if (halting.kind !== "held") return halting;
    const { suspensionId, state } = halting.suspension;
    if (state === "expired" && (await this.#isResumedInTime(suspensionId)))
      return this.end(session);
    if (state !== "suspended") return halting;
    const reason = session.reason === undefined ? {} : { reason: session.reason };
    const suspension = await this.#move(suspensionId, { state: "ended", ...reason });
    // It was just resumed, or has just expired.
    return suspension === undefined ? this.end(session) : { kind: "halted", suspension };
  }

  /** True if another node resumed a session that looks expired here. */
  async #isResumedInTime(suspensionId: string): Promise<boolean> {
    await this.#suspensions.refresh();
    return this.#suspensions.get(suspensionId)?.state === "resumed";
  }

  async #begin(
    session: Omit<Suspension, "suspensionId" | "suspendedAt">,
    checkpoint: unknown,
  ): Promise<Halting> {
    const suspensionId = `sus-${uuidv7()}`;
    const suspension = { suspensionId, ...session, suspendedAt: this.#suspensions.now() };
    const place = { collection: CHECKPOINTS, key: suspensionId };
    const adding = await this.#suspensions.add(suspensionId, suspension, {
      turn: session.sessionId,
      unless: () => this.holdOf(session.sessionId),
      also: checkpoint === undefined ? [] : [{ kind: "put", ...place, value: checkpoint }],
    });
    switch (adding.kind) {
      case "full":
        return adding;
      case "taken":
      case "added": {
        const { item } = adding;
        await this.#suspensions.everywhere(item.suspensionId);
        return { kind: adding.kind === "added" ? "halted" : "held", suspension: item };
      }
    }
  }

  /** Resumes a session: the first request with the nonce succeeds, and no later one. */
  async resume({ agentId, nonce, isAdmitted }: Resumption): Promise<Resuming> {
    const suspension = this.#suspensions.find("nonce", hashNonce(nonce));
    if (suspension?.agentId !== agentId || !isAdmitted(suspension)) return { kind: "unknown" };
    const { suspensionId } = suspension;
    const checkpoint = await this.#store.get(CHECKPOINTS, suspensionId);
    const resumed = await this.#move(suspensionId, { state: "resumed" });
    if (resumed !== undefined) return { kind: "resumed", suspension: resumed, checkpoint };
    const known = this.#suspensions.get(suspensionId);
    if (known === undefined) return { kind: "unknown" };
    const state = this.#stateOf(known);
    const isSpent = state === "resumed" || state === "suspended";
    return { kind: isSpent ? "reused" : state, suspension: known };
  }

  /** Closes sessions that were not resumed in time, after `onExpired` has handled each; deletes old entries. */
  async sweep(onExpired: (suspension: Suspension) => Promise<void>): Promise<void> {
    const isDue = (one: Suspension): boolean => this.#stateOf(one) !== one.state;
    // Another node may have resumed one in time.
    if (this.#suspensions.values().some(isDue)) await this.#suspensions.refresh();
    for (const suspension of this.#suspensions.values().filter(isDue)) {
      const state = this.#stateOf(suspension);
      await onExpired({ ...suspension, state });
      const { suspensionId } = suspension;
      await this.#suspensions.change(
        suspensionId,
        (one) => (one.state === "suspended" ? { ...one, state } : undefined),
        { also: [withoutCheckpoint(suspensionId)] },
      );
    }
    const now = this.#suspensions.now();
    const forgotten = this.#suspensions
      .values()
      .filter(({ state, resumeBy }) => state !== "suspended" && resumeBy + KEPT_MS <= now)
      .map(({ suspensionId }) => suspensionId);
    await this.#suspensions.delete(forgotten);
  }

  /** Changes a suspended session and deletes its checkpoint; undefined if it is not suspended. */
  async #move(
    suspensionId: string,
    change: Pick<Suspension, "state" | "reason">,
  ): Promise<Suspension | undefined> {
    const { item, isChanged } = await this.#suspensions.change(
      suspensionId,
      (one) => (this.#stateOf(one) === "suspended" ? { ...one, ...change } : undefined),
      { also: [withoutCheckpoint(suspensionId)] },
    );
    if (!isChanged) return undefined;
    await this.#suspensions.everywhere(suspensionId);
    return item;
  }

  #stateOf(suspension: Suspension): SuspensionState {
    return suspensionStateAt(suspension, this.#suspensions.now());
  }
}

function withoutCheckpoint(key: string): Change {
  return { kind: "delete", collection: CHECKPOINTS, key };
}

const readSuspension = recordReader<Suspension>({
  suspensionId: "string",
  sessionId: "string",
  agentId: "string",
  suspendedAt: "number",
  resumeBy: "number",
  state: "string",
});
