/**
 * Sessions that may not be used: suspended ones, until their agent comes back with the nonce; and
 * those that are over. Each nonce works once, whoever else presents it at the same moment. Every
 * change holds on every node before anybody hears of it; checkpoints are in a collection of their own.
 * AGTP "SUSPEND", "RESUME"
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

/** The outcome of suspending or ending one. */
type Halting =
  | { readonly kind: "halted"; readonly suspension: Suspension }
  /** It is suspended already, or over. */
  | { readonly kind: "held"; readonly suspension: Suspension }
  /** The agent, or all of them, have too many. */
  | { readonly kind: "full" };

/** The word that a session is resumed by, and of whom. */
interface Resumption {
  readonly agentId: string;
  readonly nonce: string;
  /** Tells whether it is the one that is meant, and may be resumed over this connection. */
  isAdmitted(suspension: Suspension): boolean;
}

type Resuming =
  | { readonly kind: "resumed"; readonly suspension: Suspension; readonly checkpoint: unknown }
  | { readonly kind: "reused" | "expired" | "ended"; readonly suspension: Suspension }
  /** No suspension of this agent has this nonce. */
  | { readonly kind: "unknown" };

/** The clock of the register; the limits are chosen by tests alone. */
interface SuspensionOptions {
  readonly limits?: Quota;
  /** Milliseconds since the epoch. */
  now?(): number;
}

const CHECKPOINTS = "session-checkpoints";
const LIMITS: Quota = { openPerOwner: 64, perOwner: 256, open: 4_096, all: 8_192 };
/** How long a spent nonce is known as one, and a session that is over as over. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** Spent nonces go first when room is needed; a task that waits to be resumed never goes. */
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
      // One whose time is over may make room before it is closed.
      changesOnDelete: (_, id) => [withoutCheckpoint(id)],
      now,
    });
    return new SuspensionRegister(store, suspensions);
  }

  /** Milliseconds since the epoch, as the register tells what is over. */
  now(): number {
    return this.#suspensions.now();
  }

  /** The suspension or the end that keeps a session from being used, as it is now. */
  holdOf(sessionId: string): Suspension | undefined {
    if (this.#suspensions.size === 0) return undefined;
    const suspension = this.#suspensions.find("hold", sessionId);
    if (suspension === undefined) return undefined;
    const state = this.#stateOf(suspension);
    return state === suspension.state ? suspension : { ...suspension, state };
  }

  /** Suspends a session. The nonce that resumes it is shown here and never again. */
  async suspend(
    session: HaltedSession & Pick<Suspension, "resumeBy">,
    checkpoint: unknown,
  ): Promise<Halting & { readonly nonce: string }> {
    const nonce = mintNonce();
    const nonceHash = hashNonce(nonce);
    const halting = await this.#begin({ ...session, nonceHash, state: "suspended" }, checkpoint);
    return { ...halting, nonce };
  }

  /** Ends a session, suspended or not; nothing brings it back. */
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
    // It was resumed, or its time was over, a moment ago.
    return suspension === undefined ? this.end(session) : { kind: "halted", suspension };
  }

  /** Asks whether another node has resumed a session whose time is over as far as is known here. */
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

  /** Goes on with a session: the first to present the nonce does, and nobody after it. */
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

  /**
   * Closes what nobody resumed in time, once `onExpired` has done what its end brings with it; and
   * forgets what has been over for long.
   */
  async sweep(onExpired: (suspension: Suspension) => Promise<void>): Promise<void> {
    const isDue = (one: Suspension): boolean => this.#stateOf(one) !== one.state;
    // One may have been resumed in time on another node.
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

  /** Moves on a session that is suspended; undefined where it is not. Its checkpoint is not needed. */
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
