/**
 * All escalations of this server, and which task of which agent waits for one. A task waits until
 * its escalation is accepted: neither a rejection nor a deadline that passed lets it go on. Every
 * change is in the store before anybody hears of it.   AGTP "ESCALATE", "CONFIRM"
 */
import { uuidv7 } from "../../identity/uuid.ts";
import { Collection } from "../collection.ts";
import type { AddOptions } from "../collection-write.ts";
import type { Quota, Rank } from "../quota.ts";
import type { Store } from "../store.ts";
import type { ApprovalOutcome, ApprovalUse } from "./approval.ts";
import { ApprovalClaims } from "./approval-claims.ts";
import {
  closedAt,
  type Decision,
  type Escalation,
  type EscalationRequest,
  type EscalationStatus,
  type EscalationVote,
  isHoldingTask,
  isOpen,
  isOpenAt,
  isUsable,
  type Opening,
  readEscalation,
  statusAt,
} from "./escalation.ts";

type Deciding =
  /** `repeated`: this was decided before; the first word is the receipt. */
  | { readonly kind: "decided" | "repeated"; readonly escalation: Escalation }
  /** It was decided otherwise, or its time is over. */
  | { readonly kind: "conflict"; readonly escalation: Escalation }
  | { readonly kind: "unknown" };

interface OpenOptions {
  /** Tells which other with its fingerprint keeps it out, decided or not. */
  keptOutBy?(other: Escalation): boolean;
}

/** The clock of the register; the limits are chosen by tests alone. */
interface EscalationOptions {
  readonly limits?: Quota;
  /** Milliseconds since the epoch. */
  now?(): number;
}

/** Tells people how an escalation stands. Never rejects. */
interface EscalationTeller {
  tell(escalation: Escalation): Promise<void>;
}

const LIMITS: Quota = {
  ...{ openPerOwner: 64, perOwner: 256, open: 4_096, all: 8_192 },
  // As much as that many of the longest contexts of ESCALATE.
  ...{ charactersPerOwner: 4_194_304, characters: 134_217_728 },
};
/** How long what is over can be looked at, and keeps its task waiting. */
const KEPT_MS = 30 * 24 * 3_600_000;
/** Evicts first what no task waits for. An open escalation is never evicted. */
const RANKS: Readonly<Record<EscalationStatus, number | undefined>> = {
  pending_review: undefined,
  deferred: undefined,
  accepted: 0,
  expired: 1,
  rejected: 1,
};

/** Hears of an escalation as it is now. */
type EscalationWatcher = (escalation: Escalation) => void;

export class EscalationRegister {
  readonly #escalations: Collection<Escalation>;
  readonly claims: ApprovalClaims = new ApprovalClaims();
  readonly #watchers: Set<EscalationWatcher>;
  #teller: EscalationTeller | undefined;

  private constructor(escalations: Collection<Escalation>, watchers: Set<EscalationWatcher>) {
    this.#escalations = escalations;
    this.#watchers = watchers;
  }

  static async open(store: Store, options: EscalationOptions = {}): Promise<EscalationRegister> {
    const { limits, now = () => Date.now() } = options;
    const watchers = new Set<EscalationWatcher>();
    const escalations = await Collection.open<Escalation>(store, {
      name: "escalations",
      read: readEscalation,
      ownerOf: ({ agentId, approval }) => approval?.payer ?? agentId,
      orderOf: ({ openedAt }) => openedAt,
      indexes: { pause: pauseNameOf, question: questionNameOf },
      forgottenAt: (one) => (isOpenAt(one, now()) ? Infinity : closedAt(one) + KEPT_MS),
      quota: { ...LIMITS, ...limits },
      rankOf,
      onChange: (_, after) => {
        if (after !== undefined) for (const watcher of watchers) watcher(after);
      },
      now,
    });
    return new EscalationRegister(escalations, watchers);
  }

  /** Milliseconds since the epoch, as the register tells what is over. */
  now(): number {
    return this.#escalations.now();
  }

  /** Takes in what other nodes have done. */
  catchUp(): Promise<void> {
    return this.#escalations.catchUp();
  }

  find(escalationId: string): Escalation | undefined {
    return this.#asItIs(this.#escalations.get(escalationId));
  }

  list(): readonly Escalation[] {
    return this.#escalations
      .values()
      .map((one) => this.#asItIs(one))
      .reverse();
  }

  /** The escalation of a question that no task waits for, decided or not. */
  findAsked(fingerprint: string): Escalation | undefined {
    return this.#asItIs(this.#escalations.find("question", fingerprint));
  }

  /** The escalation that a task of an agent waits for, decided or not. */
  pauseOf(agentId: string, taskId: string): Escalation | undefined {
    if (this.#escalations.size === 0) return undefined;
    return this.#asItIs(this.#escalations.find("pause", pauseName(agentId, taskId)));
  }

  /** From now on people are told by this, until the function that is answered was called. */
  tellBy(teller: EscalationTeller): () => void {
    this.#teller = teller;
    return () => {
      if (this.#teller === teller) this.#teller = undefined;
    };
  }

  /** Calls back with each that is another from now on, on whichever node, until what is answered was called. */
  watch(watcher: EscalationWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Takes one on, and has its task wait. */
  async open(request: EscalationRequest, options: OpenOptions = {}): Promise<Opening> {
    const { fingerprint } = request;
    const escalationId = `esc-${uuidv7()}`;
    const openedAt = this.#escalations.now();
    const escalation = { escalationId, ...request, openedAt, status: "pending_review" } as const;
    const exclusion = this.#exclusionOf(request, options);
    const adding = await this.#escalations.add(escalationId, escalation, exclusion);
    switch (adding.kind) {
      case "full":
        return adding;
      case "taken": {
        const isSame = adding.item.fingerprint === fingerprint;
        return { kind: isSame ? "repeated" : "waiting", escalation: adding.item };
      }
      case "added":
        await this.#escalations.everywhere(escalationId);
        await this.#teller?.tell(adding.item);
        return { kind: "opened", escalation: adding.item };
    }
  }

  /** Keeps the decision that an escalation waits for; who may decide is for the caller to know. */
  async decide(escalationId: string, decision: Decision): Promise<Deciding> {
    const { item, isChanged } = await this.#escalations.change(escalationId, (one) => {
      const isDecidable = this.#isDecidable(one, decision.status);
      return isDecidable ? { ...one, status: decision.status, decision } : undefined;
    });
    if (item === undefined) return { kind: "unknown" };
    const escalation = this.#asItIs(item);
    if (!isChanged && escalation.status !== decision.status)
      return { kind: "conflict", escalation };
    // Also where it is repeated: the node that has stored it may have had no answer of that.
    await this.#escalations.everywhere(escalationId);
    if (!isChanged) return { kind: "repeated", escalation };
    await this.#teller?.tell(escalation);
    return { kind: "decided", escalation };
  }

  /** Keeps the votes so far of one that waits for several; there are never fewer of them. */
  async noteVotes(escalationId: string, votes: readonly EscalationVote[]): Promise<void> {
    await this.#escalations.change(escalationId, (one) => {
      const isMore = votes.length > (one.votes?.length ?? 0);
      return isMore && isOpenAt(one, this.#escalations.now()) ? { ...one, votes } : undefined;
    });
  }

  /** Uses an approval up, before its call begins; false: it cannot be used, or not any more. */
  async use(escalationId: string, use: ApprovalUse): Promise<boolean> {
    const { isChanged } = await this.#escalations.change(escalationId, (one) => {
      const { approval } = one;
      const canUse = approval !== undefined && isUsable(one, this.#escalations.now());
      return canUse ? { ...one, approval: { ...approval, use } } : undefined;
    });
    return isChanged;
  }

  /** Keeps what became of the call that used an approval, where that is the use which is meant. */
  async settleUse(
    escalationId: string,
    outcome: ApprovalOutcome,
    isMeant: (use: ApprovalUse) => boolean = () => true,
  ): Promise<void> {
    await this.#escalations.change(escalationId, (one) => {
      const { approval } = one;
      if (approval?.use === undefined || approval.use.outcome?.status !== undefined)
        return undefined;
      if (!isMeant(approval.use)) return undefined;
      return { ...one, approval: { ...approval, use: { ...approval.use, outcome } } };
    });
  }

  /** People have been told this news of it. */
  async told(escalationId: string, toldId: string): Promise<void> {
    await this.#escalations.change(escalationId, (one) => ({ ...one, toldId }));
  }

  /** Stores what has expired, and answers it; forgets what has been over for long, and keeps what was left to keep. */
  async sweep(): Promise<readonly Escalation[]> {
    if (this.claims.hasLeft) {
      // A use whose commit failed may be in the store, and not be seen here.
      await this.catchUp();
      await this.claims.settle((...left) => this.settleUse(...left));
    }
    return this.#escalations.sweep((one) => {
      const status = statusAt(one, this.#escalations.now());
      return status === one.status ? undefined : { ...one, status };
    });
  }

  /**
   * The escalation that keeps a new one out: that of the same call, or the one that its task waits
   * for.
   */
  #exclusionOf(request: EscalationRequest, { keptOutBy }: OpenOptions): AddOptions<Escalation> {
    const { agentId, taskId, fingerprint, approval } = request;
    const now = (): number => this.#escalations.now();
    if (approval !== undefined) {
      const find = (): Escalation | undefined => this.#escalations.find("question", fingerprint);
      return {
        turn: `call ${fingerprint}`,
        unless: () => only(find(), (one) => isAwaited(one, now())),
        alters: () => superseded(find()),
      };
    }
    if (keptOutBy !== undefined) {
      return {
        turn: `once ${fingerprint}`,
        unless: () => only(this.findAsked(fingerprint), keptOutBy),
        alters: () => superseded(this.#escalations.find("question", fingerprint)),
      };
    }
    if (taskId === undefined) return {};
    const turn = pauseName(agentId, taskId);
    return {
      turn,
      unless: () => only(this.pauseOf(agentId, taskId), isOpen),
      alters: () => superseded(this.#escalations.find("pause", turn)),
    };
  }

  /** An approval that was given can be taken back as long as it was not used. */
  #isDecidable(one: Escalation, wanted: Escalation["status"]): boolean {
    if (one.status === wanted) return false;
    const isTakenBack = wanted === "rejected" && one.approval !== undefined;
    const now = this.#escalations.now();
    return isOpenAt(one, now) || (isTakenBack && isUsable(one, now));
  }

  #asItIs<Known extends Escalation | undefined>(escalation: Known): Known {
    if (escalation === undefined) return escalation;
    const status = statusAt(escalation, this.#escalations.now());
    const current = status === escalation.status ? escalation : { ...escalation, status };
    const { approval, escalationId } = escalation;
    const outcome = this.claims.outcomeOf(escalationId);
    if (approval?.use === undefined || outcome === undefined) return current;
    return { ...current, approval: { ...approval, use: { ...approval.use, outcome } } };
  }
}

function rankOf(one: Escalation, now: number): Rank {
  if (isAwaited(one, now)) return undefined;
  return one.isSuperseded === true ? 0 : RANKS[statusAt(one, now)];
}

/** The escalation that a task, or a call, has waited for until it asks again. */
function superseded(one: Escalation | undefined): ReadonlyMap<string, Escalation> {
  return new Map(one === undefined ? [] : [[one.escalationId, { ...one, isSuperseded: true }]]);
}

/** The task that waits for an escalation; undefined for one that holds up nothing. */
function pauseNameOf(escalation: Escalation): string | undefined {
  const { agentId, taskId = "" } = escalation;
  return isHoldingTask(escalation) ? pauseName(agentId, taskId) : undefined;
}

/** The question, or the call, that waits for an escalation; undefined where a task does, or nothing any more. */
function questionNameOf(escalation: Escalation): string | undefined {
  const { approval, taskId, fingerprint, isSuperseded = false } = escalation;
  const isOfTask = approval === undefined && taskId !== undefined;
  return isOfTask || isSuperseded ? undefined : fingerprint;
}

/** Tells whether somebody waits for it: for a decision, or to use the approval that was given. */
function isAwaited(escalation: Escalation, now: number): boolean {
  const isGiven = escalation.approval !== undefined && isUsable(escalation, now);
  return isGiven || isOpenAt(escalation, now);
}

function only<Item>(item: Item | undefined, isMeant: (item: Item) => boolean): Item | undefined {
  return item !== undefined && isMeant(item) ? item : undefined;
}

/** No Agent-ID has a space. */
function pauseName(agentId: string, taskId: string): string {
  return `${agentId} ${taskId}`;
}
