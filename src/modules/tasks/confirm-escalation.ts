/**
 * CONFIRM of an escalation: keeps the decision, lets its task go on or not, and records the decision
 * in the stream of the agent that escalated. The same decision again answers the first
 * receipt. 403 not the caller's to decide · 409 decided otherwise, or too late · 422 an answer that
 * is not what an upstream asked for.   AGTP "CONFIRM"
 */
import { given } from "../../base/json-value.ts";
import { unreadableFault } from "../../dispatch/approvals/approved-call.ts";
import {
  CONFIRM_SCHEMA,
  type Confirmable,
  type Confirmation,
  confirmBy,
  readConfirmation,
} from "../../dispatch/approvals/confirmation.ts";
import { authorityOver } from "../../dispatch/approvals/escalation-authority.ts";
import { escalationEvent } from "../../dispatch/approvals/escalation-events.ts";
import { type OperatorPolicy, operatorOf } from "../../dispatch/caller/operator.ts";
import { notFound, type Refusal, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import { recordsUnavailable } from "../../dispatch/refusals/store-refusals.ts";
import { decisionConflict } from "../../dispatch/refusals/task-refusals.ts";
import { type FloorMethod, floorResult } from "../../dispatch/routes/floor.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { CausingRequest, RecordStreamEvents } from "../../dispatch/stream-events.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import { canonicalDigest } from "../../identity/canonical-form.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import { prepareMeteredCheck } from "../../schema/metered-schema.ts";
import type { SchemaViolation } from "../../schema/schema.ts";
import type { Attributor } from "../../state/records/ledger.ts";
import {
  type Decision,
  decisionView,
  type Escalation,
  escalationView,
} from "../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";

/**
 * CONFIRM on "/": asks each kind of confirmable for the id in turn; operators may be known
 * by their certificate alone. 404 nothing that waits has this id · 422 malformed.
 */
export function confirmMethod(confirmables: () => readonly Confirmable[]): FloorMethod {
  return {
    inputSchema: CONFIRM_SCHEMA,
    takesCertificate: true,
    looksUp: ["target_id", "escalation_id", "notification_id", "attestation_target"],
    handler: async (call, exchange) => {
      const confirmation = readConfirmation(call);
      if ("kind" in confirmation) return confirmation;
      const answer = await confirmBy(confirmables(), confirmation, { call, exchange });
      return (
        answer ?? notFound("record-not-found", "nothing that can be confirmed has this target_id")
      );
    },
  };
}

interface ConfirmEscalationOptions {
  readonly escalations: Pick<EscalationRegister, "find" | "decide" | "now">;
  readonly policy: OperatorPolicy;
  readonly attributor: Pick<Attributor, "isWritable" | "isInStore">;
  readonly record: RecordStreamEvents;
}

type Answer = HandlerSuccess | Refusal;

/** The escalations that CONFIRM can decide. */
export function confirmableEscalations(options: ConfirmEscalationOptions): Confirmable {
  return {
    confirm: async (confirmation, source) => {
      const escalation = options.escalations.find(confirmation.targetId);
      return escalation && decide(options, escalation, confirmation, source);
    },
  };
}

async function decide(
  options: ConfirmEscalationOptions,
  escalation: Escalation,
  confirmation: Confirmation,
  source: CausingRequest,
): Promise<Answer | undefined> {
  const { call, exchange } = source;
  const authority = authorityOver(escalation, exchange, options.policy);
  if (typeof authority !== "string") {
    const { escalationId } = escalation;
    call.log.warn({ escalation_id: escalationId }, "a confirmation was refused");
    return authority;
  }
  const violations = contentViolations(escalation, confirmation);
  if (violations !== undefined) return schemaViolation(violations);
  if (!options.attributor.isWritable) return recordsUnavailable(options.attributor);
  const decision = {
    ...decisionOf(confirmation, authority, exchange, options.policy),
    at: options.escalations.now(),
    ...answerContent(escalation, confirmation),
  };
  const outcome = await options.escalations.decide(escalation.escalationId, decision);
  switch (outcome.kind) {
    case "unknown":
      return undefined;
    case "conflict":
      return conflict(outcome.escalation, confirmation);
    case "repeated":
      return (
        otherAnswer(outcome.escalation, confirmation) ??
        receipt(call, outcome.escalation, { noop: true })
      );
    case "decided": {
      const event = escalationEvent("escalation_decided", outcome.escalation);
      const [auditId] = await options.record([event], source);
      return receipt(call, outcome.escalation, { audit_id: auditId });
    }
  }
}

function decisionOf(
  { status, reason, attestation }: Confirmation,
  authority: Decision["authority"],
  exchange: ExchangeView,
  policy: OperatorPolicy,
): Omit<Decision, "at"> {
  const { agentId } = exchange.caller;
  const operator = operatorOf(exchange.peer, policy);
  return {
    attestationId: `att-${uuidv7()}`,
    ...{ status, authority },
    ...given({ agentId, operator, reason, attestation }),
  };
}

function conflict(escalation: Escalation, { status }: Confirmation): Refusal {
  const { escalationId, status: present, approval } = escalation;
  const decided =
    present === "expired"
      ? "the escalation's deadline has passed, and it is decided no more"
      : `the escalation is ${present} already, and does not become ${status}`;
  const message = approval?.use === undefined ? decided : "the approval was used already";
  return decisionConflict(message, { escalation_id: escalationId, escalation_status: present });
}

/** 409 for another answer to an upstream: the first one stands. */
function otherAnswer(
  { escalationId, status, decision }: Escalation,
  { content }: Confirmation,
): Refusal | undefined {
  const first = decision?.content;
  if (first === undefined || content === undefined) return undefined;
  if (canonicalDigest(first) === canonicalDigest(content)) return undefined;
  const message = "the question is answered already, with another content";
  return decisionConflict(message, { escalation_id: escalationId, escalation_status: status });
}

/** The receipt of the decision that was kept. */
function receipt(call: Call, escalation: Escalation, more: object): HandlerSuccess {
  const { escalationId, taskId, decision } = escalation;
  const result = {
    ...{ target_id: escalationId, escalation_id: escalationId },
    ...(decision === undefined ? {} : decisionView(decision)),
    ...more,
    escalation: escalationView(escalation),
  };
  return floorResult({ taskId: taskId ?? call.taskId }, result);
}

type WrittenAnswer = Pick<Confirmation, "status" | "content">;

/**
 * Checks an answer by the schema of the upstream's question, which is hostile input. The answer must have a digest,
 * since records and notifications of the decision carry it.
 */
function contentViolations(
  { approval }: Escalation,
  { status, content = {} }: WrittenAnswer,
): readonly SchemaViolation[] | undefined {
  if (approval?.question === undefined || status !== "accepted") return undefined;
  const violations = prepareMeteredCheck(approval.question.schema)(content);
  const unreadable = unreadableFault(content);
  const found = violations ?? (unreadable && [{ path: "", ...unreadable }]);
  return found?.map(({ path, ...rest }) => ({ ...rest, path: `/content${path}` }));
}

/** The part of a decision that is sent to the upstream. */
function answerContent(
  { approval }: Escalation,
  { status, content = {} }: WrittenAnswer,
): Pick<Decision, "content"> {
  return approval?.question === undefined || status !== "accepted" ? {} : { content };
}
