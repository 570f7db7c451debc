/**
 * The escalations of this server, and which agent's task waits for which. A task waits until its escalation is
 * accepted: neither a rejection nor an expired deadline lets it continue. Every change is stored before it is
 * announced.   AGTP "ESCALATE", "CONFIRM"
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
  /** `repeated`: it was decided the same way before; the first decision is the receipt. */
  | { readonly kind: "decided" | "repeated"; readonly escalation: Escalation }
  /** It was decided differently, or has expired. */
  | { readonly kind: "conflict"; readonly escalation: Escalation }
  | { readonly kind: "unknown" };

interface OpenOptions {
  /** Returns true if another escalation of the same fingerprint prevents this one, decided or not. */
  keptOutBy?(other: Escalation): boolean;
}

/** The clock of the register; only tests set limits. */
interface EscalationOptions {
  readonly limits?: Quota;
  /** Milliseconds since the epoch. */
  now?(): number;
}

/** Notifies people of an escalation's state. Never rejects. */
interface EscalationTeller {
  tell(escalation: Escalation): Promise<void>;
}

const LIMITS: Quota = {
  ...{ openPerOwner: 64, perOwner: 256, open: 4_096, all: 8_192 },
  // The sizes allow as many escalations with the longest contexts.
  ...{ charactersPerOwner: 4_194_304, characters: 134_217_728 },
};
/** How long a closed escalation stays visible, and its task waiting. */
const KEPT_MS = 30 * 24 * 3_600_000;
/** Escalations that no task waits for are evicted first, open ones never. */
const RANKS: Readonly<Record<EscalationStatus, number | undefined>> = {
  pending_review: undefined,
  deferred: undefined,
  accepted: 0,
  expired: 1,
  rejected: 1,
};

/** Called with the current state of an escalation. */
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

  /** Returns milliseconds since the epoch by the clock that decides expiry. */
  now(): number {
    return this.#escalations.now();
  }

  /** Reads the changes of other nodes. */
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

  /** Returns the escalation of a question without a task, decided or not. */
  findAsked(fingerprint: string): Escalation | undefined {
    return this.#asItIs(this.#escalations.find("question", fingerprint));
  }

  /** Returns the escalation that an agent's task waits for, decided or not. */
  pauseOf(agentId: string, taskId: string): Escalation | undefined {
    if (this.#escalations.size === 0) return undefined;
    return this.#asItIs(this.#escalations.find("pause", pauseName(agentId, taskId)));
  }

  /** Notifies people through this teller, until the returned function is called. */
  tellBy(teller: EscalationTeller): () => void {
    this.#teller = teller;
    return () => {
      if (this.#teller === teller) this.#teller = undefined;
    };
  }

  /** Calls back with each changed escalation, from any node, until the returned function is called. */
  watch(watcher: EscalationWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Opens an escalation, and makes its task wait. */
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

  /** Stores a decision; the caller has checked that the decider is entitled. */
  async decide(escalationId: string, decision: Decision): Promise<Deciding> {
    const { item, isChanged } = await this.#escalations.change(escalationId, (one) => {
      const isDecidable = this.#isDecidable(one, decision.status);
      return isDecidable ? { ...one, status: decision.status, decision } : undefined;
    });
    if (item === undefined) return { kind: "unknown" };
    const escalation = this.#asItIs(item);
    if (!isChanged && escalation.status !== decision.status)
      return { kind: "conflict", escalation };
    // Needed for a repetition too: the node that stored the decision may not have learned of it.
    await this.#escalations.everywhere(escalationId);
    if (!isChanged) return { kind: "repeated", escalation };
    await this.#teller?.tell(escalation);
    return { kind: "decided", escalation };
  }

  /** Stores the votes so far; their number never decreases. */
  async noteVotes(escalationId: string, votes: readonly EscalationVote[]): Promise<void> {
    await this.#escalations.change(escalationId, (one) => {
      const isMore = votes.length > (one.votes?.length ?? 0);
      return isMore && isOpenAt(one, this.#escalations.now()) ? { ...one, votes } : undefined;
    });
  }

  /** Uses up an approval before its call begins; false if it is not usable, or no longer. */
  async use(escalationId: string, use: ApprovalUse): Promise<boolean> {
    const { isChanged } = await this.#escalations.change(escalationId, (one) => {
      const { approval } = one;
      const canUse = approval !== undefined && isUsable(one, this.#escalations.now());
      return canUse ? { ...one, approval: { ...approval, use } } : undefined;
    });
    return isChanged;
  }

  /** Stores the outcome of the call that used an approval, if `isMeant` accepts that use. */
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

  /** Notes that people were notified of this change. */
  async told(escalationId: string, toldId: string): Promise<void> {
    await this.#escalations.change(escalationId, (one) => ({ ...one, toldId }));
  }

  /** Stores expiries and returns those escalations; deletes old ones, and stores outcomes left over. */
  async sweep(): Promise<readonly Escalation[]> {
    if (this.claims.hasLeft) {
      // A use may be stored although its commit failed here.
      await this.catchUp();
      await this.claims.settle((...left) => this.settleUse(...left));
    }
    return this.#escalations.sweep((one) => {
      const status = statusAt(one, this.#escalations.now());
      return status === one.status ? undefined : { ...one, status };
    });
  }

  /**
   * Returns the rule for what excludes a new escalation: one for the same call or question, or the one its task
   * waits for.
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

  /** True if the decision applies; an approval can be withdrawn until it is used. */
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

/** Marks the escalation that a task or call waited for until it asked again. */
function superseded(one: Escalation | undefined): ReadonlyMap<string, Escalation> {
  return new Map(one === undefined ? [] : [[one.escalationId, { ...one, isSuperseded: true }]]);
}

/** Returns the index name of the waiting task; undefined if none waits. */
function pauseNameOf(escalation: Escalation): string | undefined {
  const { agentId, taskId = "" } = escalation;
  return isHoldingTask(escalation) ? pauseName(agentId, taskId) : undefined;
}

/** Returns the index name of the waiting question or call; undefined if a task waits, or nothing any more. */
function questionNameOf(escalation: Escalation): string | undefined {
  const { approval, taskId, fingerprint, isSuperseded = false } = escalation;
  const isOfTask = approval === undefined && taskId !== undefined;
  return isOfTask || isSuperseded ? undefined : fingerprint;
}

/** True if it waits for a decision, or its approval can still be used. */
function isAwaited(escalation: Escalation, now: number): boolean {
  const isGiven = escalation.approval !== undefined && isUsable(escalation, now);
  return isGiven || isOpenAt(escalation, now);
}

function only<Item>(item: Item | undefined, isMeant: (item: Item) => boolean): Item | undefined {
  return item !== undefined && isMeant(item) ? item : undefined;
}

/** Unambiguous, since an Agent-ID contains no space. */
function pauseName(agentId: string, taskId: string): string {
  return `${agentId} ${taskId}`;
}
