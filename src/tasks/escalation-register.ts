/**
 * All escalations of this server, and which task of which agent waits for one. A task waits until
 * its escalation is accepted: neither a rejection nor a deadline that passed lets it go on. Every
 * change is in the store before anybody hears of it.   AGTP "ESCALATE", "CONFIRM"
 */
import { uuidv7 } from "../identity/uuid.ts";
import { isRecord } from "../json-value.ts";
import type { Change, Store } from "../store/store.ts";
import { TaskQueue } from "../task-queue.ts";
import { closedAt, type Decision, type Escalation, isOpen, statusAt } from "./escalation.ts";
import { EscalationIndex } from "./escalation-index.ts";
import type { HoldingLimits } from "./holdings.ts";

/** An escalation that somebody wants. */
export type EscalationRequest = Omit<
  Escalation,
  "escalationId" | "openedAt" | "status" | "decision" | "toldId"
>;

/** What became of the wish. */
export type Opening =
  /** `repeated`: the same was asked before, and is still open. */
  | { readonly kind: "opened" | "repeated"; readonly escalation: Escalation }
  /** The task waits for another one. */
  | { readonly kind: "waiting"; readonly escalation: Escalation }
  /** The agent, or all of them, wait for too many. */
  | { readonly kind: "full" };

/** What became of a decision. */
export type Deciding =
  /** `repeated`: this was decided before; the first word is the receipt. */
  | { readonly kind: "decided" | "repeated"; readonly escalation: Escalation }
  /** It was decided otherwise, or its time is over. */
  | { readonly kind: "conflict"; readonly escalation: Escalation }
  | { readonly kind: "unknown" };

/** What tests choose. */
export interface EscalationOptions {
  readonly limits?: Partial<HoldingLimits>;
  /** Milliseconds since the epoch. */
  now?(): number;
}

/** Tells people how an escalation stands. Never rejects. */
export interface EscalationTeller {
  tell(escalation: Escalation): Promise<void>;
}

const COLLECTION = "escalations";
const LIMITS: HoldingLimits = { openPerAgent: 64, perAgent: 256, open: 4_096, all: 8_192 };
/** How long what is over can be looked at, and keeps its task waiting. */
const KEPT_MS = 30 * 24 * 3_600_000;

export class EscalationRegister {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #index: EscalationIndex;
  readonly #changes = new TaskQueue();
  #teller: EscalationTeller | undefined;

  private constructor(store: Store, { limits, now = Date.now }: EscalationOptions) {
    this.#store = store;
    this.#now = now;
    this.#index = new EscalationIndex({ ...LIMITS, ...limits });
  }

  /** Opens the register of a store. */
  static async open(store: Store, options: EscalationOptions = {}): Promise<EscalationRegister> {
    const register = new EscalationRegister(store, options);
    const entries = await store.list(COLLECTION);
    const escalations = entries.flatMap(({ value }) => readEscalation(value) ?? []);
    escalations.sort((left, right) => left.openedAt - right.openedAt);
    for (const escalation of escalations) register.#index.set(escalation);
    return register;
  }

  /** One as it is now. */
  find(escalationId: string): Escalation | undefined {
    const escalation = this.#index.get(escalationId);
    return escalation && this.#asItIs(escalation);
  }

  /** All of them, the newest first. */
  list(): readonly Escalation[] {
    const all = this.#index.all().map((one) => this.#asItIs(one));
    return all.reverse();
  }

  /** What a task of an agent waits for, decided or not. */
  pauseOf(agentId: string, taskId: string): Escalation | undefined {
    const escalation = this.#index.pauseOf(agentId, taskId);
    return escalation && this.#asItIs(escalation);
  }

  /** From now on people are told by this, until the function that is answered was called. */
  tellBy(teller: EscalationTeller): () => void {
    this.#teller = teller;
    return () => {
      if (this.#teller === teller) this.#teller = undefined;
    };
  }

  /** Takes one on, and has its task wait. */
  async open(request: EscalationRequest): Promise<Opening> {
    const opening = await this.#changes.run(() => this.#open(request));
    if (opening.kind === "opened") await this.#teller?.tell(opening.escalation);
    return opening;
  }

  async #open(request: EscalationRequest): Promise<Opening> {
    const { agentId, taskId } = request;
    const now = this.#now();
    const earlier = taskId === undefined ? undefined : this.pauseOf(agentId, taskId);
    if (earlier !== undefined && isOpen(earlier, now)) {
      const isSame = earlier.fingerprint === request.fingerprint;
      return { kind: isSame ? "repeated" : "waiting", escalation: earlier };
    }
    const evicted = this.#index.surplus(agentId, now);
    if (evicted === undefined) return { kind: "full" };
    const escalationId = `esc-${uuidv7()}`;
    const opened = { openedAt: now, status: "pending_review" } as const;
    const escalation = copyOf({ escalationId, ...request, ...opened });
    await this.#store.commit([...evicted.map(deletion), put(escalation)]);
    for (const id of evicted) this.#index.delete(id);
    this.#index.set(escalation);
    return { kind: "opened", escalation };
  }

  /** Says the word that an escalation waits for. Who may is for the caller to know. */
  async decide(escalationId: string, decision: Decision): Promise<Deciding> {
    const deciding = await this.#decide(escalationId, decision);
    if (deciding.kind === "decided") await this.#teller?.tell(deciding.escalation);
    return deciding;
  }

  #decide(escalationId: string, decision: Decision): Promise<Deciding> {
    return this.#changes.run(async () => {
      const escalation = this.find(escalationId);
      if (escalation === undefined) return { kind: "unknown" };
      if (escalation.status === decision.status) return { kind: "repeated", escalation };
      if (!isOpen(escalation, this.#now())) return { kind: "conflict", escalation };
      const decided = copyOf({ ...escalation, status: decision.status, decision });
      await this.#keep(decided);
      return { kind: "decided", escalation: decided };
    });
  }

  /** People have been told this news of it. */
  told(escalationId: string, toldId: string): Promise<void> {
    return this.#changes.run(async () => {
      const escalation = this.#index.get(escalationId);
      if (escalation !== undefined) await this.#keep({ ...escalation, toldId });
    });
  }

  /** Stores what has expired, and answers it; forgets what has been over for long. */
  sweep(): Promise<readonly Escalation[]> {
    return this.#changes.run(async () => {
      const now = this.#now();
      const all = this.#index.all();
      const forgotten = all
        .filter((one) => !isOpen(one, now) && closedAt(one) + KEPT_MS <= now)
        .map(({ escalationId }) => escalationId);
      const expired = all
        .filter((one) => statusAt(one, now) !== one.status)
        .map((one) => ({ ...one, status: "expired" }) as const);
      if (forgotten.length + expired.length === 0) return [];
      await this.#store.commit([...expired.map(put), ...forgotten.map(deletion)]);
      for (const escalation of expired) this.#index.set(escalation);
      for (const id of forgotten) this.#index.delete(id);
      return expired;
    });
  }

  async #keep(escalation: Escalation): Promise<void> {
    await this.#store.commit([put(escalation)]);
    this.#index.set(escalation);
  }

  #asItIs(escalation: Escalation): Escalation {
    const status = statusAt(escalation, this.#now());
    return status === escalation.status ? escalation : { ...escalation, status };
  }
}

/** A string cut from a message keeps the whole message alive; one that was read from JSON does not. */
function copyOf(escalation: Escalation): Escalation {
  return JSON.parse(JSON.stringify(escalation));
}

function put(escalation: Escalation): Change {
  const { escalationId: key } = escalation;
  return { kind: "put", collection: COLLECTION, key, value: escalation };
}

function deletion(key: string): Change {
  return { kind: "delete", collection: COLLECTION, key };
}

/** What this register stored itself; anything else is no escalation. */
function readEscalation(value: unknown): Escalation | undefined {
  if (!isRecord(value)) return undefined;
  const { escalationId, agentId, openedAt, deadlineAt, status } = value;
  const isWhole =
    typeof escalationId === "string" &&
    typeof agentId === "string" &&
    typeof openedAt === "number" &&
    typeof deadlineAt === "number" &&
    typeof status === "string";
  if (!isWhole) return undefined;
  // What an earlier version kept: that people were told of the opening, and nothing of the rest.
  const { isAnnounced, ...kept } = value;
  const told = isAnnounced === true ? { toldId: `${escalationId}.escalation.opened` } : {};
  return { ...told, ...kept } as unknown as Escalation;
}
