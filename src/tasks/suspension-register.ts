/**
 * Sessions that may not be used: suspended ones, until their agent comes back with the nonce; and
 * those that are over. Each nonce works once, whoever else presents it at the same moment. Every
 * change is in the store before anybody hears of it, checkpoints in a collection of their own.
 * AGTP "SUSPEND", "RESUME"
 */
import { uuidv7 } from "../identity/uuid.ts";
import { isRecord } from "../json-value.ts";
import type { Change, Store } from "../store/store.ts";
import { TaskQueue } from "../task-queue.ts";
import type { HoldingLimits } from "./holdings.ts";
import { hashNonce, mintNonce, type Suspension, suspensionStateAt } from "./suspension.ts";
import { SuspensionIndex } from "./suspension-index.ts";

/** Whose session is halted, and why. */
export type HaltedSession = Pick<Suspension, "sessionId" | "agentId" | "tlsIdentity" | "reason">;

/** What became of suspending or ending one. */
export type Halting =
  | { readonly kind: "halted"; readonly suspension: Suspension }
  /** It is suspended already, or over. */
  | { readonly kind: "held"; readonly suspension: Suspension }
  /** The agent, or all of them, have too many. */
  | { readonly kind: "full" };

/** What is presented to go on. */
export interface Resumption {
  readonly agentId: string;
  readonly nonce: string;
  /** Whether it is the one that is meant, and may be resumed over this connection. */
  isAdmitted(suspension: Suspension): boolean;
}

/** What became of it. */
export type Resuming =
  | { readonly kind: "resumed"; readonly suspension: Suspension; readonly checkpoint: unknown }
  | { readonly kind: "reused" | "expired" | "ended"; readonly suspension: Suspension }
  /** No suspension of this agent has this nonce. */
  | { readonly kind: "unknown" };

/** What tests choose. */
export interface SuspensionOptions {
  readonly limits?: Partial<HoldingLimits>;
  /** Milliseconds since the epoch. */
  now?(): number;
}

const COLLECTION = "suspended-sessions";
const CHECKPOINTS = "session-checkpoints";
const LIMITS: HoldingLimits = { openPerAgent: 64, perAgent: 256, open: 4_096, all: 8_192 };
/** How long a spent nonce is known as one, and a session that is over as over. */
const KEPT_MS = 7 * 24 * 3_600_000;

export class SuspensionRegister {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #index: SuspensionIndex;
  readonly #changes = new TaskQueue();

  private constructor(store: Store, { limits, now = Date.now }: SuspensionOptions) {
    this.#store = store;
    this.#now = now;
    this.#index = new SuspensionIndex({ ...LIMITS, ...limits });
  }

  /** Opens the register of a store. */
  static async open(store: Store, options: SuspensionOptions = {}): Promise<SuspensionRegister> {
    const register = new SuspensionRegister(store, options);
    const entries = await store.list(COLLECTION);
    const suspensions = entries.flatMap(({ value }) => readSuspension(value) ?? []);
    suspensions.sort((left, right) => left.suspendedAt - right.suspendedAt);
    for (const suspension of suspensions) register.#index.set(suspension);
    return register;
  }

  /** What keeps a session from being used, as it is now. */
  holdOf(sessionId: string): Suspension | undefined {
    const suspension = this.#index.holdOf(sessionId);
    if (suspension === undefined) return undefined;
    const state = suspensionStateAt(suspension, this.#now());
    return state === suspension.state ? suspension : { ...suspension, state };
  }

  /** Suspends a session. The nonce that resumes it is shown here and never again. */
  async suspend(
    session: HaltedSession & Pick<Suspension, "resumeBy">,
    checkpoint: unknown,
  ): Promise<Halting & { readonly nonce: string }> {
    const nonce = mintNonce();
    const nonceHash = hashNonce(nonce);
    const suspended = { ...session, nonceHash, state: "suspended" } as const;
    const halting = await this.#changes.run(() => this.#begin(suspended, checkpoint));
    return { ...halting, nonce };
  }

  /** Ends a session, suspended or not; nothing brings it back. */
  end(session: HaltedSession): Promise<Halting> {
    return this.#changes.run(() => {
      const held = this.holdOf(session.sessionId);
      if (held?.state === "suspended") return this.#endSuspended(held, session.reason);
      return this.#begin({ ...session, resumeBy: this.#now(), state: "ended" }, undefined);
    });
  }

  async #endSuspended(held: Suspension, reason: string | undefined): Promise<Halting> {
    const ended = { ...held, ...(reason === undefined ? {} : { reason }), state: "ended" } as const;
    await this.#keep(ended, [deletion(CHECKPOINTS, held.suspensionId)]);
    return { kind: "halted", suspension: ended };
  }

  async #begin(
    session: Omit<Suspension, "suspensionId" | "suspendedAt">,
    checkpoint: unknown,
  ): Promise<Halting> {
    const now = this.#now();
    const held = this.holdOf(session.sessionId);
    if (held !== undefined) return { kind: "held", suspension: held };
    const evicted = this.#index.surplus(session.agentId, now, session.state === "suspended");
    if (evicted === undefined) return { kind: "full" };
    const suspensionId = `sus-${uuidv7()}`;
    const suspension = copyOf({ suspensionId, ...session, suspendedAt: now });
    const more = evicted.flatMap(deletions);
    if (checkpoint !== undefined) {
      const place = { collection: CHECKPOINTS, key: suspensionId };
      more.push({ kind: "put", ...place, value: checkpoint });
    }
    await this.#keep(suspension, more);
    for (const id of evicted) this.#index.delete(id);
    return { kind: "halted", suspension };
  }

  /** Goes on with a session: the first to present the nonce does, and nobody after it. */
  resume({ agentId, nonce, isAdmitted }: Resumption): Promise<Resuming> {
    return this.#changes.run(async () => {
      const suspension = this.#index.ofNonce(hashNonce(nonce));
      if (suspension?.agentId !== agentId || !isAdmitted(suspension)) return { kind: "unknown" };
      const state = suspensionStateAt(suspension, this.#now());
      if (state === "resumed") return { kind: "reused", suspension };
      if (state !== "suspended") return { kind: state, suspension };
      const { suspensionId } = suspension;
      const checkpoint = await this.#store.get(CHECKPOINTS, suspensionId);
      const resumed = { ...suspension, state: "resumed" } as const;
      await this.#keep(resumed, [deletion(CHECKPOINTS, suspensionId)]);
      return { kind: "resumed", suspension: resumed, checkpoint };
    });
  }

  /**
   * Closes what nobody resumed in time, once `onExpired` has done what its end brings with it; and
   * forgets what has been over for long.
   */
  async sweep(onExpired: (suspension: Suspension) => Promise<void>): Promise<void> {
    const now = this.#now();
    for (const suspension of this.#index.all()) {
      const state = suspensionStateAt(suspension, now);
      if (state === suspension.state) continue;
      await onExpired(suspension);
      await this.#changes.run(() => this.#close({ ...suspension, state }));
    }
    await this.#changes.run(async () => {
      const forgotten = this.#index
        .all()
        .filter(({ state, resumeBy }) => state !== "suspended" && resumeBy + KEPT_MS <= now)
        .map(({ suspensionId }) => suspensionId);
      if (forgotten.length === 0) return;
      await this.#store.commit(forgotten.flatMap(deletions));
      for (const id of forgotten) this.#index.delete(id);
    });
  }

  async #close(suspension: Suspension): Promise<void> {
    const { suspensionId } = suspension;
    // It may have made room for another meanwhile.
    if (!this.#index.has(suspensionId)) return;
    await this.#keep(suspension, [deletion(CHECKPOINTS, suspensionId)]);
  }

  async #keep(suspension: Suspension, more: readonly Change[]): Promise<void> {
    const place = { collection: COLLECTION, key: suspension.suspensionId };
    await this.#store.commit([{ kind: "put", ...place, value: suspension }, ...more]);
    this.#index.set(suspension);
  }
}

/** A string cut from a message keeps the whole message alive; one that was read from JSON does not. */
function copyOf(suspension: Suspension): Suspension {
  return JSON.parse(JSON.stringify(suspension));
}

function deletion(collection: string, key: string): Change {
  return { kind: "delete", collection, key };
}

function deletions(suspensionId: string): Change[] {
  return [COLLECTION, CHECKPOINTS].map((collection) => deletion(collection, suspensionId));
}

/** What this register stored itself; anything else is no suspension. */
function readSuspension(value: unknown): Suspension | undefined {
  if (!isRecord(value)) return undefined;
  const { suspensionId, sessionId, agentId, suspendedAt, resumeBy, state } = value;
  const isWhole =
    typeof suspensionId === "string" &&
    typeof sessionId === "string" &&
    typeof agentId === "string" &&
    typeof suspendedAt === "number" &&
    typeof resumeBy === "number" &&
    typeof state === "string";
  return isWhole ? (value as unknown as Suspension) : undefined;
}
