/**
 * Questions that upstreams ask in the middle of a call, as escalations: each is bound to its call as
 * an approval is, an operator answers it by CONFIRM with `content`, and the same call, repeated with
 * its Escalation-ID, goes on with that answer.   docs/mcp-servers.md
 */
import { hash } from "node:crypto";
import type { JsonRecord } from "../../base/json-value.ts";
import {
  type AskingOutcome,
  AwaitedAnswer,
  type UpstreamAnswer,
  type UpstreamQuestion,
} from "../../handlers/call-upstream.ts";
import type { ApprovedCall } from "../../state/registers/approval.ts";
import { type Escalation, statusAt } from "../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";
import type { Exchange } from "../exchange.ts";
import { payerOf, STRANGERS } from "../rates/rates.ts";
import { namedError, type Refusal } from "../refusals/refusal.ts";
import { type Reply, replyLater } from "../reply.ts";
import type { Route } from "../routes/route.ts";
import type { ApprovalPolicy } from "./approval-policy.ts";
import { approvedCall, callDigest, isReadable, newQuestion, shownCall } from "./approved-call.ts";

/** The parts that keep questions. */
export interface CallQuestionParts {
  readonly policy: ApprovalPolicy;
  readonly escalations: Pick<EscalationRegister, "open">;
}

/** The time where no rule gives one. */
const USUAL_TTL_MS = 3_600_000;

/** Puts a question before the operators. */
export async function askOperators(
  { policy, escalations }: CallQuestionParts,
  exchange: Exchange,
  route: Route,
  question: UpstreamQuestion,
): Promise<AskingOutcome> {
  const { caller, path, taskId, sessionId } = exchange;
  if (!isReadable(exchange.input)) return { kind: "impossible" };
  const need = policy.needFor(route, caller, path);
  const deadlineAt = Date.now() + (question.ttlMs ?? need?.ttlMs ?? USUAL_TTL_MS);
  const asked = newQuestion(deadlineAt);
  const call = approvedCall(exchange, policy.versionsOf(route), asked);
  const { description, semantic } = route.definition;
  const { message, schema, resume, upstream } = question;
  const payer = payerOf(exchange);
  const opening = await escalations.open({
    ...{ agentId: call.agent, deadlineAt, priority: "normal" },
    context: {
      ...{ kind: "elicitation", description, impact: semantic.impact, upstream, message },
      ...{ requested_schema: schema, owner_id: caller.document?.ownerId ?? null },
      call: shownCall(call, route),
    },
    ...(taskId === undefined ? {} : { taskId }),
    ...(sessionId === undefined ? {} : { sessionId }),
    fingerprint: fingerprintOf(call),
    approval: {
      ...{ digest: callDigest(call), nonce: asked.nonce, question: { schema, resume } },
      payer: payer.isKnown ? payer.key : STRANGERS,
    },
  });
  if (opening.kind === "full") return { kind: "impossible" };
  const { escalation } = opening;
  exchange.concernsApproval({
    ...{ escalationId: escalation.escalationId, digest: escalation.approval?.digest },
    isUsed: false,
  });
  const kind = opening.kind === "opened" ? "asked" : "repeated";
  return { kind, answer: new AwaitedAnswer(questionBody(escalation)) };
}

/** The answer to the question of an escalation; undefined: it asks none. */
export function answerOf({ approval, decision }: Escalation): UpstreamAnswer | undefined {
  const question = approval?.question;
  return question && { content: decision?.content ?? {}, resume: question.resume };
}

/** 202: nobody has answered yet. */
export function replyToUnanswered(escalation: Escalation): Reply {
  return replyLater(questionBody(escalation));
}

/** 422, by the errors that the endpoint declares: the question has no answer, and gets none. */
export function refuseUnanswered({ escalationId, decision }: Escalation): Refusal {
  const details = {
    escalation_id: escalationId,
    ...(decision?.reason === undefined ? {} : { reason: decision.reason }),
  };
  if (decision?.operator === undefined && decision?.agentId === undefined) {
    const message = "the call that asked is gone with its connection: call again without its id";
    return namedError("upstream_connection_error", message, details);
  }
  return namedError("upstream_error", "an operator gives the upstream no answer", details);
}

function questionBody(escalation: Escalation): JsonRecord {
  const { escalationId, approval, deadlineAt } = escalation;
  return {
    ...{ kind: "elicitation", escalation_id: escalationId },
    escalation_status: statusAt(escalation, Date.now()),
    requested_schema: approval?.question?.schema,
    call_digest: approval?.digest,
    expires_at: new Date(deadlineAt).toISOString(),
    poll: { method: "QUERY", path: `/escalations/${escalationId}` },
  };
}

/** Equal for two questions about the same call; never that of an approval. */
function fingerprintOf({ expires_at: _, nonce: __, ...call }: ApprovedCall): string {
  return hash("sha256", `elicitation ${callDigest({ ...call, expires_at: "", nonce: "" })}`);
}
