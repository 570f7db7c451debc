/**
 * Approvals that hold for exactly one call. A call without one becomes an escalation, which operators
 * decide; with one it begins at most once: it is claimed in the turn in which its gate is passed, so
 * that one of many gets it, and used up in the store before its handler is called, so that no crash
 * lets it be used again.   docs/approvals.md
 */
import { type Holders, holding, mayHold } from "../../state/holders.ts";
import type { Ledger } from "../../state/records/ledger.ts";
import type { ApprovalOutcome, ApprovalUse } from "../../state/registers/approval.ts";
import { type Escalation, isUsable } from "../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";
import type { Response } from "../../wire/message.ts";
import type { Caller } from "../caller/caller.ts";
import { behalfOf } from "../caller/delegation.ts";
import type { ApprovalStep, Exchange } from "../exchange.ts";
import { recordOf } from "../recorded.ts";
import {
  approvalElsewhere,
  approvalExpired,
  approvalImpossible,
  approvalMismatch,
  approvalRejected,
  approvalRequired,
  approvalUsed,
} from "../refusals/approval-refusals.ts";
import { authorizationRequired, type Refusal, schemaViolation } from "../refusals/refusal.ts";
import { tooManyWaiting } from "../refusals/task-refusals.ts";
import type { Route } from "../routes/route.ts";
import type { ApprovalNeed, ApprovalPolicy } from "./approval-policy.ts";
import {
  approvedCall,
  differences,
  findAnswer,
  isOutdatedOnly,
  questionOf,
  unreadableFault,
} from "./approved-call.ts";
import {
  answerOf,
  askOperators,
  escalateCall,
  noteEscalation,
  refuseUnanswered,
  replyToUnanswered,
} from "./call-questions.ts";
import type { StepsAhead } from "./steps-ahead.ts";

interface ApprovalParts {
  readonly policy: ApprovalPolicy;
  readonly escalations: EscalationRegister;
  readonly ledger: Pick<Ledger, "currentHeadOf" | "find" | "settled">;
  readonly ahead: StepsAhead;
  /** The processes over the store: the one that asked waits for the answer. */
  readonly holders: Holders;
}

export class Approvals {
  readonly #parts: ApprovalParts;

  constructor(parts: ApprovalParts) {
    this.#parts = parts;
  }

  /** Tells whether an approval can ever be about a call of this route. */
  mayConcern(route: Route): boolean {
    const { type } = route.definition.handler;
    const mayAskBack = type === "mcp_tool";
    return mayAskBack || route.steps !== undefined || this.#parts.policy.isGoverning(route);
  }

  /** Undefined: the handler may be called at once. */
  check(exchange: Exchange, route: Route): Refusal | ApprovalStep | undefined {
    const { policy, ahead } = this.#parts;
    const { caller, path } = exchange;
    const failed = ahead.refuse(route, exchange);
    if (failed !== undefined) return failed;
    const need = policy.needFor(route, caller, path);
    this.#prepareUpstream(exchange, route);
    if (need === undefined) return this.#checkAnswer(exchange, route);
    if (caller.document === undefined) {
      const message = "calls that need an approval are taken from agents that this server knows";
      return authorizationRequired("credentials-missing", message);
    }
    if (cannotComeBack(exchange)) {
      return approvalImpossible(
        exchange.isAnswered
          ? "the request is answered already, and no record would name its approval"
          : "a part of a call cannot wait for an approval of its own",
      );
    }
    const unreadable = refuseUnreadable(exchange);
    if (unreadable !== undefined) return unreadable;
    const presented = exchange.header("escalation-id");
    if (presented === undefined)
      return { kind: "step", take: () => this.#ask(exchange, route, need) };
    return this.#present(exchange, route, presented);
  }

  /** A call that needs no approval may bring the answer to what its upstream asked. */
  #checkAnswer(exchange: Exchange, route: Route): Refusal | ApprovalStep | undefined {
    const presented = exchange.header("escalation-id");
    if (presented === undefined || exchange.upstream?.ask === undefined) return undefined;
    const approval = this.#parts.escalations.find(presented)?.approval;
    // An approval that is not needed any more is passed over.
    if (approval !== undefined && approval.question === undefined) return undefined;
    return refuseUnreadable(exchange) ?? this.#present(exchange, route, presented);
  }

  /** An upstream that asks back does so by the exchange of its call. */
  #prepareUpstream(exchange: Exchange, route: Route): void {
    if (route.definition.handler.type !== "mcp_tool") return;
    const { onProgress } = exchange;
    const canAsk = exchange.caller.document !== undefined && !cannotComeBack(exchange);
    exchange.upstream = {
      ...(onProgress && { onProgress }),
      ...(canAsk && {
        ask: (question) => askOperators(this.#parts, exchange, route, question),
      }),
    };
  }

  /** Tells whether a call would not simply be begun. */
  isNeeded(route: Route, asked: Pick<Exchange, "caller" | "path" | "input">): boolean {
    const { policy, ahead } = this.#parts;
    const { caller, path } = asked;
    if (policy.needFor(route, caller, path) !== undefined) return true;
    return ahead.refuse(route, asked) !== undefined;
  }

  /** Keeps what became of a request that was begun under an approval. Never rejects. */
  async keepOutcome(exchange: Exchange, response: Response): Promise<void> {
    const { approval } = exchange;
    if (approval?.isUsed !== true) return;
    const { escalations, ledger } = this.#parts;
    const { escalationId } = approval;
    const { status } = response;
    let outcome: ApprovalOutcome = { status };
    escalations.claims.conclude(escalationId, outcome);
    try {
      await ledger.settled().catch(() => undefined);
      const record = recordOf(response);
      if (record !== undefined) outcome = { status, auditId: record.auditId };
      escalations.claims.conclude(escalationId, outcome);
      await escalations.settleUse(escalationId, outcome);
    } catch {
      this.#leave(escalationId, outcome);
    } finally {
      escalations.claims.release(escalationId);
    }
  }

  async #ask(exchange: Exchange, route: Route, { ttlMs }: ApprovalNeed): Promise<Refusal> {
    const opening = await escalateCall(this.#parts, exchange, route, { kind: "approval", ttlMs });
    if (opening.kind === "full") return tooManyWaiting("escalations");
    return approvalRequired(opening.escalation);
  }

  #present(exchange: Exchange, route: Route, escalationId: string): Refusal | ApprovalStep {
    const { escalations, policy } = this.#parts;
    const escalation = escalations.find(escalationId);
    if (escalation?.approval === undefined || escalation.agentId !== exchange.caller.agentId) {
      exchange.noteApproval({ escalationId, digest: undefined, isUsed: false });
      return approvalMismatch(escalationId, []);
    }
    noteEscalation(exchange, escalation);
    const versions = policy.versionsOf(route);
    const call = approvedCall(exchange, versions, questionOf(escalation));
    const others = differences(escalation, call, route);
    // A matter of another principal's, or of other agents that the work was done for, is not told about.
    const isTheirs = others.includes("principal") || !isForSame(escalation, exchange.caller);
    if (isTheirs) return approvalMismatch(escalationId, []);
    if (!isOutdatedOnly(others)) return approvalMismatch(escalationId, others);
    const refused = this.#refuseUsed(escalation) ?? this.#refuseClosed(escalation);
    if (refused !== undefined) return refused;
    if (others.length > 0) return approvalMismatch(escalationId, others);
    if (!isUsable(escalation, escalations.now())) return stillOpen(exchange, escalation);
    // Used up here, the answer would never come to the call that asked.
    const resume = escalation.approval.question?.resume;
    if (resume !== undefined && !mayHold(this.#parts.holders, resume)) {
      return approvalElsewhere(escalation);
    }
    if (!escalations.claims.claim(escalationId)) return approvalUsed(escalation, true);
    return { kind: "step", take: () => this.#use(exchange, escalation) };
  }

  /** The fate of the call that used it may have to be looked for. */
  #refuseUsed(escalation: Escalation): Refusal | ApprovalStep | undefined {
    const { escalations } = this.#parts;
    const { approval, escalationId } = escalation;
    if (approval?.use === undefined) return undefined;
    const isRunning = escalations.claims.isRunning(escalationId) || this.#isElsewhere(approval.use);
    if (isRunning || approval.use.outcome !== undefined) return approvalUsed(escalation, isRunning);
    return { kind: "step", take: () => this.#lookUp(escalation) };
  }

  /** Another process that serves has the call; only that one knows how far it is. */
  #isElsewhere(use: ApprovalUse): boolean {
    return use.outcome === undefined && !mayHold(this.#parts.holders, use);
  }

  /** A process that has ended kept the record of its answer, or never answered. */
  async #lookUp(escalation: Escalation): Promise<Refusal> {
    const { escalations, ledger } = this.#parts;
    const { escalationId, agentId, approval } = escalation;
    const found = approval?.use && (await findAnswer(ledger, agentId, approval.use));
    await escalations.settleUse(escalationId, found ?? {});
    return approvalUsed(escalations.find(escalationId) ?? escalation, false);
  }

  async #use(exchange: Exchange, escalation: Escalation): Promise<Refusal | undefined> {
    const { escalations } = this.#parts;
    const { escalationId, approval } = escalation;
    let isUsed = false;
    try {
      const { responseId } = exchange;
      const use = holding(this.#parts.holders, { at: Date.now(), responseId });
      isUsed = await escalations.use(escalationId, use);
    } catch (error) {
      // Used or not, no call has begun under it here.
      this.#leave(escalationId, {});
      throw error;
    } finally {
      if (!isUsed) escalations.claims.release(escalationId);
    }
    if (isUsed && exchange.isAnswered) return this.#refuseLate(escalation);
    if (isUsed) {
      exchange.noteApproval({ escalationId, digest: approval?.digest, isUsed });
      exchange.markActed();
      const answer = answerOf(escalation);
      if (answer !== undefined) exchange.upstream = { ...exchange.upstream, answer };
      return undefined;
    }
    // It was taken back, used or closed while the claim was on its way to the store.
    const now = escalations.find(escalationId) ?? escalation;
    const use = now.approval?.use;
    if (use !== undefined) return approvalUsed(now, this.#isElsewhere(use));
    return this.#refuseClosed(now) ?? approvalRequired(now);
  }

  /** The request was answered while its approval was used up: nothing begins that no record names. */
  async #refuseLate(escalation: Escalation): Promise<Refusal> {
    const { escalations } = this.#parts;
    const { escalationId } = escalation;
    try {
      await escalations.settleUse(escalationId, {});
    } catch {
      this.#leave(escalationId, {});
    } finally {
      escalations.claims.release(escalationId);
    }
    return approvalUsed(escalations.find(escalationId) ?? escalation, false);
  }

  /** Other processes do not look for the outcome of a call that this one has; it knows by the record itself. */
  #leave(escalationId: string, outcome: ApprovalOutcome): void {
    const { escalations, holders } = this.#parts;
    if (holders.self !== undefined)
      escalations.claims.leave(escalationId, holding(holders, { outcome }));
  }

  #refuseClosed(escalation: Escalation): Refusal | undefined {
    const { status, approval, deadlineAt } = escalation;
    if (status === "rejected") {
      const isQuestion = approval?.question !== undefined;
      return isQuestion ? refuseUnanswered(escalation) : approvalRejected(escalation);
    }
    return deadlineAt <= this.#parts.escalations.now() ? approvalExpired(escalation) : undefined;
  }
}

/** Tells whether a call is made for those for whom its approval was asked. */
function isForSame({ approval }: Escalation, caller: Caller): boolean {
  return approval?.behalf === behalfOf(caller);
}

/** Nobody has decided yet. */
function stillOpen(exchange: Exchange, escalation: Escalation): Refusal | ApprovalStep {
  if (escalation.approval?.question === undefined) return approvalRequired(escalation);
  return { kind: "step", take: async () => replyToUnanswered(exchange, escalation) };
}

/** Tells whether a call is a part of another one, which goes on without it or is over. */
function cannotComeBack({ inner, approval, isAnswered }: Exchange): boolean {
  if (inner === undefined) return false;
  return isAnswered || approval?.isUsed === true || isPart(inner.parent);
}

/** Tells whether a request, or what it was dispatched by, is a composition. */
function isPart({ route, inner }: Exchange): boolean {
  return route?.steps !== undefined || (inner !== undefined && isPart(inner.parent));
}

/** 422 for an input that nobody could read, or that has no canonical form to bind an approval to. */
function refuseUnreadable({ input }: Exchange): Refusal | undefined {
  const fault = unreadableFault(input);
  return fault && schemaViolation([{ path: "", ...fault }]);
}
