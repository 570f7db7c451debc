/**
 * Approvals, each valid for exactly one call. A call without one becomes an escalation that
 * operators decide; a call with one starts at most once. The approval is claimed in the same turn
 * in which its gate passes, so that only one of several requests gets it, and is used up in the
 * store before the handler is called, so that no crash lets it be used again.   docs/approvals.md
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
  /** The processes that share the store; the one that asked the question waits for its answer. */
  readonly holders: Holders;
}

export class Approvals {
  readonly #parts: ApprovalParts;

  constructor(parts: ApprovalParts) {
    this.#parts = parts;
  }

  /** Tells whether a call of this route can ever involve an approval. */
  mayConcern(route: Route): boolean {
    const { type } = route.definition.handler;
    const mayAskBack = type === "mcp_tool";
    return mayAskBack || route.steps !== undefined || this.#parts.policy.isGoverning(route);
  }

  /** Checks the approval of a call; undefined if the handler may be called at once. */
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

  /** Accepts the answer to an upstream's question with a call that needs no approval. */
  #checkAnswer(exchange: Exchange, route: Route): Refusal | ApprovalStep | undefined {
    const presented = exchange.header("escalation-id");
    if (presented === undefined || exchange.upstream?.ask === undefined) return undefined;
    const approval = this.#parts.escalations.find(presented)?.approval;
    // An approval that is no longer needed is ignored.
    if (approval !== undefined && approval.question === undefined) return undefined;
    return refuseUnreadable(exchange) ?? this.#present(exchange, route, presented);
  }

  /** Lets the upstream of an `mcp_tool` handler ask its question through the exchange. */
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

  /** Tells whether a call would have to wait for an approval, or would be refused for one. */
  isNeeded(route: Route, asked: Pick<Exchange, "caller" | "path" | "input">): boolean {
    const { policy, ahead } = this.#parts;
    const { caller, path } = asked;
    if (policy.needFor(route, caller, path) !== undefined) return true;
    return ahead.refuse(route, asked) !== undefined;
  }

  /** Stores the outcome of a request that started under an approval. Never rejects. */
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
    // An approval of another principal, or for work on behalf of other agents, is not disclosed.
    const isTheirs = others.includes("principal") || !isForSame(escalation, exchange.caller);
    if (isTheirs) return approvalMismatch(escalationId, []);
    if (!isOutdatedOnly(others)) return approvalMismatch(escalationId, others);
    const refused = this.#refuseUsed(escalation) ?? this.#refuseClosed(escalation);
    if (refused !== undefined) return refused;
    if (others.length > 0) return approvalMismatch(escalationId, others);
    if (!isUsable(escalation, escalations.now())) return stillOpen(exchange, escalation);
    // Using it up here would keep the answer from the process whose call is waiting for it.
    const resume = escalation.approval.question?.resume;
    if (resume !== undefined && !mayHold(this.#parts.holders, resume)) {
      return approvalElsewhere(escalation);
    }
    if (!escalations.claims.claim(escalationId)) return approvalUsed(escalation, true);
    return { kind: "step", take: () => this.#use(exchange, escalation) };
  }

  /** Refuses an approval that was used; the outcome of its call may have to be looked up first. */
  #refuseUsed(escalation: Escalation): Refusal | ApprovalStep | undefined {
    const { escalations } = this.#parts;
    const { approval, escalationId } = escalation;
    if (approval?.use === undefined) return undefined;
    const isRunning = escalations.claims.isRunning(escalationId) || this.#isElsewhere(approval.use);
    if (isRunning || approval.use.outcome !== undefined) return approvalUsed(escalation, isRunning);
    return { kind: "step", take: () => this.#lookUp(escalation) };
  }

  /** Tells whether another live process runs the call; only that process knows its progress. */
  #isElsewhere(use: ApprovalUse): boolean {
    return use.outcome === undefined && !mayHold(this.#parts.holders, use);
  }

  /** Looks up the outcome of a call of an ended process in the records; none means no answer. */
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
      // Used or not, no call started under it here.
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
    // It was withdrawn, used or closed while the claim was being stored.
    const now = escalations.find(escalationId) ?? escalation;
    const use = now.approval?.use;
    if (use !== undefined) return approvalUsed(now, this.#isElsewhere(use));
    return this.#refuseClosed(now) ?? approvalRequired(now);
  }

  /** Refuses to start a call whose request was answered meanwhile: no record would name it. */
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

  /**
   * Leaves a failed write of the outcome to be retried: other processes do not look it up while
   * this one lives.
   */
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

/** Tells whether the call is made on behalf of the same agents and principals as the approval. */
function isForSame({ approval }: Escalation, caller: Caller): boolean {
  return approval?.behalf === behalfOf(caller);
}

/** Answers a call whose escalation nobody has decided yet. */
function stillOpen(exchange: Exchange, escalation: Escalation): Refusal | ApprovalStep {
  if (escalation.approval?.question === undefined) return approvalRequired(escalation);
  return { kind: "step", take: async () => replyToUnanswered(exchange, escalation) };
}

/** Tells whether a call cannot be repeated later: it is part of a composition, or its request is over. */
function cannotComeBack({ inner, approval, isAnswered }: Exchange): boolean {
  if (inner === undefined) return false;
  return isAnswered || approval?.isUsed === true || isPart(inner.parent);
}

/** Tells whether a request or one of its ancestors is a composition. */
function isPart({ route, inner }: Exchange): boolean {
  return route?.steps !== undefined || (inner !== undefined && isPart(inner.parent));
}

/** Refuses an input that no operator could read, or without a canonical form to bind to: 422. */
function refuseUnreadable({ input }: Exchange): Refusal | undefined {
  const fault = unreadableFault(input);
  return fault && schemaViolation([{ path: "", ...fault }]);
}
