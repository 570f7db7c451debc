/**
 * Escalations about calls: one that needs an approval, or whose upstream asks a question midway. A
 * question is bound to its call like an approval; an operator answers it by CONFIRM with `content`,
 * and the same call, repeated with its Escalation-ID, continues with that answer.
 * docs/approvals.md, docs/mcp-servers.md
 */
import { hash } from "node:crypto";
import { given, type JsonRecord } from "../../base/json-value.ts";
import {
  type AskingOutcome,
  AwaitedAnswer,
  type UpstreamAnswer,
  type UpstreamQuestion,
} from "../../handlers/call-upstream.ts";
import type { Escalation } from "../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";
import { behalfOf, delegatorsOf } from "../caller/delegation.ts";
import type { Exchange } from "../exchange.ts";
import { payerOf, STRANGERS } from "../rates/rates.ts";
import { namedError, type Refusal } from "../refusals/refusal.ts";
import { type Reply, replyLater } from "../reply.ts";
import type { Route } from "../routes/route.ts";
import type { ApprovalPolicy } from "./approval-policy.ts";
import { approvedCall, callDigest, isReadable, newQuestion, shownCall } from "./approved-call.ts";

interface CallQuestionParts {
  readonly policy: ApprovalPolicy;
  readonly escalations: Pick<EscalationRegister, "open" | "now">;
}

/** The time to live of a question where no rule sets one. */
const USUAL_TTL_MS = 3_600_000;

/** Puts an upstream's question before the operators. */
export async function askOperators(
  parts: CallQuestionParts,
  exchange: Exchange,
  route: Route,
  question: UpstreamQuestion,
): Promise<AskingOutcome> {
  const { caller, path } = exchange;
  // The upstream has already started, even if its question fails.
  exchange.markActed();
  if (!isReadable(exchange.input)) return { kind: "impossible" };
  const { message, schema, resume, upstream } = question;
  const ttlMs = question.ttlMs ?? parts.policy.needFor(route, caller, path)?.ttlMs ?? USUAL_TTL_MS;
  const opening = await escalateCall(parts, exchange, route, {
    ...{ kind: "elicitation", ttlMs, question: { schema, resume } },
    shown: { upstream, message, requested_schema: schema },
  });
  if (opening.kind === "full") return { kind: "impossible" };
  exchange.markAwaiting();
  const kind = opening.kind === "opened" ? "asked" : "repeated";
  return { kind, answer: new AwaitedAnswer(questionBody(opening.escalation)) };
}

/** The content of an escalation about a call. */
interface Asking extends Pick<NonNullable<Escalation["approval"]>, "question"> {
  readonly kind: "approval" | "elicitation";
  readonly ttlMs: number;
  /** Members of its context besides the common ones. */
  readonly shown?: JsonRecord;
}

/** Opens an escalation for a call and notes it on the request; a repeated call reuses its escalation. */
export async function escalateCall(
  { policy, escalations }: CallQuestionParts,
  exchange: Exchange,
  route: Route,
  { kind, ttlMs, shown, question }: Asking,
): ReturnType<EscalationRegister["open"]> {
  const { caller, taskId, sessionId } = exchange;
  const deadlineAt = escalations.now() + ttlMs;
  const asked = newQuestion(deadlineAt);
  const call = approvedCall(exchange, policy.versionsOf(route), asked);
  const { description, semantic } = route.definition;
  const payer = payerOf(exchange);
  const delegatedBy = delegatorsOf(caller);
  // Equal for two requests of the same call, but a question's never equals an approval's.
  const lasting = callDigest({ ...call, expires_at: "", nonce: "" });
  const behalf = behalfOf(caller);
  const asking = [...(kind === "approval" ? [] : [kind]), lasting, ...(behalf ? [behalf] : [])];
  const opening = await escalations.open({
    ...{ agentId: call.agent, deadlineAt, priority: "normal" },
    context: {
      ...{ kind, description, impact: semantic.impact, ...shown },
      owner_id: caller.document?.ownerId ?? null,
      call: shownCall(call, route),
    },
    ...given({ taskId, sessionId }),
    ...(delegatedBy.length > 0 && { delegatedBy }),
    fingerprint: hash("sha256", asking.join(" ")),
    approval: {
      ...{ digest: callDigest(call), nonce: asked.nonce, ...given({ question, behalf }) },
      payer: payer.isKnown ? payer.key : STRANGERS,
    },
  });
  if (opening.kind !== "full") noteEscalation(exchange, opening.escalation);
  return opening;
}

/** Notes the escalation that a request is about; nothing has started under it yet. */
export function noteEscalation(exchange: Exchange, { escalationId, approval }: Escalation): void {
  exchange.noteApproval({ escalationId, digest: approval?.digest, isUsed: false });
}

/** Returns the answer to the question of an escalation; undefined if it asks none. */
export function answerOf({ approval, decision }: Escalation): UpstreamAnswer | undefined {
  const question = approval?.question;
  return question && { content: decision?.content ?? {}, resume: question.resume };
}

/** Replies 202 while nobody has answered the question. */
export function replyToUnanswered(exchange: Exchange, escalation: Escalation): Reply {
  exchange.markAwaiting();
  return replyLater(questionBody(escalation));
}

/** Refuses with 422 and an error that the endpoint declares: the question will get no answer. */
export function refuseUnanswered({ escalationId, decision }: Escalation): Refusal {
  const details = given({ escalation_id: escalationId, reason: decision?.reason });
  if (decision?.operator === undefined && decision?.agentId === undefined) {
    const message = "the call that asked is gone with its connection: call again without its id";
    return namedError("upstream_connection_error", message, details);
  }
  return namedError("upstream_error", "an operator gives the upstream no answer", details);
}

function questionBody(escalation: Escalation): JsonRecord {
  const { escalationId, approval, deadlineAt, status } = escalation;
  return {
    ...{ kind: "elicitation", escalation_id: escalationId, escalation_status: status },
    requested_schema: approval?.question?.schema,
    call_digest: approval?.digest,
    expires_at: new Date(deadlineAt).toISOString(),
    poll: { method: "QUERY", path: `/escalations/${escalationId}` },
  };
}
