/**
 * CONFIRM of an escalation that a run's question opened: the answer goes to the run first, and decides the escalation
 * by what the run accepted. If the gate needs several approvers, the answer is a vote and the escalation stays open.
 * 403 if the gate lists other approvers · 409 if this approver voted differently before · 422 if the answer is not one
 * that the run waits for   AGTP "CONFIRM", OpenWOP "interrupt" approval
 */
import { given } from "../../base/json-value.ts";
import type { Confirmation, Confirmed } from "../../dispatch/approvals/confirmation.ts";
import { escalationEvent } from "../../dispatch/approvals/escalation-events.ts";
import { type OperatorPolicy, operatorOf } from "../../dispatch/caller/operator.ts";
import type { QueryCaller } from "../../dispatch/module/query-source.ts";
import { type Refusal, schemaViolation, violationAt } from "../../dispatch/refusals/refusal.ts";
import { confirmationForbidden, decisionConflict } from "../../dispatch/refusals/task-refusals.ts";
import { floorResult } from "../../dispatch/routes/floor.ts";
import type { CausingRequest, RecordStreamEvents } from "../../dispatch/stream-events.ts";
import type { HandlerResult } from "../../handlers/handler.ts";
import type { InterruptVerdict } from "../../runs/interrupt-escalations.ts";
import type { SchemaViolation } from "../../schema/schema.ts";
import {
  type Decision,
  decisionView,
  type Escalation,
  escalationView,
} from "../../state/registers/escalation.ts";
import { type AnsweredRun, interruptOf, isApproving } from "./runs/answer-run.ts";
import { isRefused, type RunRefusal } from "./runs/run.ts";
import type { RunCaller } from "./runs/run-entry.ts";
import type { RunHost } from "./runs/run-host.ts";
import type { RunLog } from "./runs/run-log.ts";
import { type InterruptAnswer, plainAnswer, type Vote } from "./runs/run-state.ts";

/** The interrupt of a run that an escalation is about. */
export interface Subject {
  readonly runId: string;
  readonly nodeId: string;
  readonly interruptId: string;
  readonly isFork?: true;
}

/** A caller that sees every run. */
export const OVERSEER: RunCaller = {
  owner: { tenant: "", principal: "operator", scopes: [] },
  sees: "all",
};

/**
 * Identifies the answerer as the run's events name it: a person by certificate or sign-in, regardless of the agent, so
 * that each person has one vote.
 */
export function answererOf(
  { caller: { agentId }, peer }: QueryCaller,
  policy: OperatorPolicy,
): Pick<InterruptAnswer, "by" | "alsoKnownAs"> {
  const operator = operatorOf(peer, policy);
  const agents = agentId === undefined ? [] : [`agtp:${agentId}`];
  if (operator === undefined) return { by: agents[0] ?? "operator" };
  // A renewed certificate with the same key identifies the same person.
  const key = operator.via === "certificate" ? peer.certificate?.spkiFingerprint : undefined;
  return { by: `operator:${key ?? operator.id}`, alsoKnownAs: ["operator", ...agents] };
}

/** The answer of a CONFIRM: its `resume_value`, which must agree with its status, or else a plain yes or no. */
export function confirmedAnswer(
  kind: Parameters<typeof plainAnswer>[0],
  { status, reason, value }: { status: unknown; reason: string | undefined; value: unknown },
): Pick<InterruptAnswer, "resumeValue" | "isApproving"> {
  const isApproving = status === "accepted";
  return { resumeValue: value ?? plainAnswer(kind, isApproving, reason), isApproving };
}

interface QuestionParts {
  readonly host: Pick<RunHost, "find" | "answer">;
  readonly policy: OperatorPolicy;
  readonly record: RecordStreamEvents;
  /** Decides the escalation and resolves with the record's Audit-ID; undefined if it was already decided. */
  decide(verdict: InterruptVerdict): Promise<string | undefined>;
  /** Resolves once the vote is stored with its escalation. */
  settled(): Promise<void>;
  findEscalation(escalationId: string): Escalation | undefined;
}

/** A CONFIRM of an escalation, and its caller. */
interface Word {
  readonly escalation: Escalation;
  readonly subject: Subject;
  readonly authority: Decision["authority"];
  readonly confirmation: Confirmation;
  readonly source: CausingRequest;
}

/** Answers the run; undefined if it no longer waits for this answer. */
export async function confirmQuestion(parts: QuestionParts, word: Word): Confirmed {
  const { host, policy } = parts;
  const { subject, confirmation, source } = word;
  const { runId, nodeId, interruptId } = subject;
  const { status, reason } = confirmation;
  const found = await host.find(runId, OVERSEER);
  if (isRefused(found)) return undefined;
  const asked = interruptOf(found.state, nodeId);
  if (asked === undefined) return undefined;
  const value = source.call.input["resume_value"];
  const answer: InterruptAnswer = {
    ...confirmedAnswer(asked.kind, { status, reason, value }),
    ...answererOf(source.exchange, policy),
    ...{ interruptId, isToldByCaller: true },
  };
  const caller = { ...OVERSEER, owner: { ...OVERSEER.owner, principal: answer.by } };
  const answered = await host.answer(runId, nodeId, answer, caller);
  if (isRefused(answered)) return refusalOf(answered, word, found, answer);
  return answered.outcome === undefined
    ? voted(parts, word, answered, answer)
    : decided(parts, word, answered);
}

/** The decision that a CONFIRM states, with its operator and agent. */
function spoken({ confirmation, authority, source }: Word, policy: OperatorPolicy) {
  const { status, reason, attestation } = confirmation;
  const { agentId } = source.exchange.caller;
  const operator = operatorOf(source.exchange.peer, policy);
  return { status, authority, ...given({ agentId, operator, reason, attestation }) };
}

async function decided(
  { decide, findEscalation, policy }: QuestionParts,
  word: Word,
  { log }: AnsweredRun,
): Promise<HandlerResult> {
  const { escalation, source } = word;
  const { call } = source;
  const auditId = await decide({ ...spoken(word, policy), cause: source });
  const after = findEscalation(escalation.escalationId) ?? escalation;
  const { decision } = after;
  return floorResult(call, {
    ...(decision === undefined ? {} : decisionView(decision)),
    ...given({ audit_id: auditId }),
    ...receipt(after, log),
  });
}

/** Answers a CONFIRM that was one of several votes: audits it, and leaves the escalation open. */
async function voted(
  { record, policy, settled, findEscalation }: QuestionParts,
  word: Word,
  { log, eventId: attestationId, votes }: AnsweredRun,
  { by }: InterruptAnswer,
): Promise<HandlerResult> {
  const { escalation, confirmation, source } = word;
  const { call } = source;
  const { status } = confirmation;
  const decision = { ...spoken(word, policy), attestationId, at: Date.now() };
  const event = escalationEvent("escalation_voted", { ...escalation, decision }, { vote: status });
  const [auditId] = await record([event], source);
  await settled();
  return floorResult(call, {
    ...{ attestation_id: attestationId, timestamp: new Date(decision.at).toISOString() },
    ...{ vote: status, voter: by, votes, ...given({ audit_id: auditId }) },
    ...receipt(findEscalation(escalation.escalationId) ?? escalation, log),
  });
}

function receipt(escalation: Escalation, { run: { runId }, state }: RunLog): object {
  const { escalationId } = escalation;
  return {
    ...{ target_id: escalationId, escalation_id: escalationId },
    escalation: escalationView(escalation),
    run: { run_id: runId, status: state.status },
  };
}

/** Undefined if the run no longer waits for this answer. */
async function refusalOf(
  { code, message, details }: RunRefusal,
  { escalation, subject, source }: Word,
  log: RunLog,
  answer: InterruptAnswer,
): Promise<HandlerResult | Refusal | undefined> {
  switch (code) {
    case "validation_error": {
      const errors = (details?.["errors"] ?? []) as readonly SchemaViolation[];
      const named = errors.map((one) => ({
        ...one,
        path: one.path.replace("/resumeValue", "/resume_value"),
      }));
      return named.length > 0 ? schemaViolation(named) : violationAt("/status", "const", message);
    }
    case "forbidden":
      return confirmationForbidden(message);
    default: {
      const asked = interruptOf(log.state, subject.nodeId);
      if (asked?.interruptId !== subject.interruptId || asked.isResolved) return undefined;
      const own = asked.votes.find(({ by }) => by === answer.by);
      return own && repeated(own, escalation, log, answer, source);
    }
  }
}

/** Answers a repeated vote with its first receipt, or refuses a different one. */
async function repeated(
  { action, by }: Vote,
  escalation: Escalation,
  log: RunLog,
  { isApproving: isYes, interruptId }: InterruptAnswer,
  { call }: CausingRequest,
): Promise<HandlerResult | Refusal> {
  const { escalationId, status: present } = escalation;
  if (isApproving(action) !== isYes) {
    const message = "the gate has another word of this one already, and takes no second one";
    return decisionConflict(message, { escalation_id: escalationId, escalation_status: present });
  }
  let receiptId: string | undefined;
  for await (const { type, payload, eventId } of log.eventsBehind(-1)) {
    const isOwn = payload["decidedBy"] === by && payload["interruptId"] === interruptId;
    if (type === "approval.received" && isOwn) receiptId = eventId;
  }
  return floorResult(call, {
    ...given({ attestation_id: receiptId }),
    ...{ vote: isYes === true ? "accepted" : "rejected", voter: by, noop: true },
    ...receipt(escalation, log),
  });
}
