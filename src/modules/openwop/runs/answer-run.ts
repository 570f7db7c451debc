/** Giving a run the answer that one of its nodes waits for: the first one counts.   OpenWOP "interrupt" */

import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { SchemaCompiler } from "../../../schema/schema.ts";
import type { AlsoChange } from "../../../state/collection-write.ts";
import { takenLoop } from "../workflows/loops.ts";
import { nodeFailed } from "./endings.ts";
import {
  type Answering,
  type InterruptAnswer,
  type RunWatcher,
  resolved,
} from "./interrupt-answer.ts";
import { invalid, under } from "./make-run.ts";
import { nodeDone } from "./node-events.ts";
import type { EventDraft } from "./run-event.ts";
import type { Redact, RunLog } from "./run-log.ts";
import { type RunRefusal, refuseRun } from "./run-refusal.ts";
import type { Interrupt, Vote } from "./run-state.ts";
import { decisionAnswered, interruptOf, refuseAnswer } from "./verdict.ts";
import type { WorkflowRuns } from "./workflow-runs.ts";

/** A run whose node has its answer. */
export interface AnsweredRun {
  readonly log: RunLog;
  readonly interruptId: string;
  /** The event that says so. */
  readonly eventId: string;
}

interface AnswerParts {
  readonly register: WorkflowRuns;
  readonly watcher: RunWatcher;
  readonly compiler: SchemaCompiler;
  readonly redact: Redact;
  /** The changes that are made together with it. */
  readonly alongside: readonly AlsoChange[];
}

/** Answers a node; the caller has the run executed. */
export async function answerRun(
  log: RunLog,
  nodeId: string,
  given: InterruptAnswer,
  { register, watcher, alongside, compiler, redact }: AnswerParts,
): Promise<AnsweredRun | RunRefusal> {
  const { run } = log;
  const interrupt = interruptOf(log.state, nodeId);
  if (interrupt === undefined) {
    return refuseRun("interrupt_not_found", "the node of this run waits for nothing");
  }
  const answer = { ...given, resumeValue: readAnswer(interrupt, given.resumeValue) };
  const misfit = refuseMisfit(interrupt, answer, compiler);
  if (misfit !== undefined) return redact(misfit);
  const result = await register.pendingResult(run.runId, interrupt);
  let refusal: RunRefusal | undefined;
  const [event] = await log.append((state) => {
    const now = interruptOf(state, nodeId) ?? interrupt;
    refusal = refuseAnswer(state, nodeId) ?? refuseVote(now, answer);
    if (refusal !== undefined) return [];
    return answered(now, answer, result, { state, run, now: register.now() });
  }, alongside);
  if (refusal !== undefined) return refusal;
  if (interruptOf(log.state, nodeId)?.isResolved !== false)
    watcher.onAnswer(run, interrupt, answer);
  return { log, interruptId: interrupt.interruptId, eventId: event?.eventId ?? "" };
}

function readAnswer({ kind }: Interrupt, resumeValue: unknown): unknown {
  return kind === "clarification" ? readAnswers(resumeValue) : resumeValue;
}

/** An answer that is none of those that are waited for changes nothing. */
function refuseMisfit(
  { resumeSchema }: Interrupt,
  { resumeValue }: InterruptAnswer,
  compiler: SchemaCompiler,
): RunRefusal | undefined {
  if (resumeSchema === undefined) return undefined;
  const place = { file: "interrupt", key: "resumeSchema" };
  const violations = compiler.compile(resumeSchema, place).compiled?.check(resumeValue) ?? [];
  return violations.length === 0 ? undefined : invalid(violations.map(under("/resumeValue")));
}

function answered(
  interrupt: Interrupt,
  answer: InterruptAnswer,
  result: unknown,
  at: Answering,
): readonly EventDraft[] {
  switch (interrupt.kind) {
    case "approval":
      return approvalAnswered(interrupt, answer, at);
    case "clarification":
      return clarificationAnswered(interrupt, answer, at);
    case "low-confidence":
      return decisionAnswered(interrupt, answer, result, at);
  }
}

/**
 * The answers that a clarification gate waits for, by their questions' ids, written as an object or
 * as a list of `{id, answer}`.   OpenWOP "interrupt" clarification
 */
function readAnswers(resumeValue: unknown): unknown {
  const { answers } = isRecord(resumeValue) ? resumeValue : {};
  if (!isRecord(resumeValue) || !Array.isArray(answers)) return resumeValue;
  const ids = new Set(answers.map((one) => (isRecord(one) ? one["id"] : undefined)));
  const isWhole = answers.every(
    (one) => isRecord(one) && typeof one["id"] === "string" && Object.hasOwn(one, "answer"),
  );
  if (!isWhole || ids.size < answers.length) return resumeValue;
  const read = answers.map((one: JsonRecord) => [String(one["id"]), one["answer"]]);
  return { ...resumeValue, answers: Object.fromEntries(read) };
}

/** The events of them. */
function clarificationAnswered(
  interrupt: Interrupt,
  answer: InterruptAnswer,
  at: Answering,
): readonly EventDraft[] {
  const { nodeId, interruptId } = interrupt;
  const { answers: read } = isRecord(answer.resumeValue) ? answer.resumeValue : {};
  const answers = isRecord(read) ? read : {};
  const payload = { nodeId, interruptId, answers, answeredBy: answer.by };
  return [
    resolved(interrupt, answer, at.now),
    { type: "clarification.resolved", nodeId, payload },
    nodeDone(nodeId, { ...answers, answers }, at),
  ];
}

const ACCEPTING: ReadonlySet<string> = new Set(["accept", "edit-accept"]);

/**
 * The answer that an approval gate waits for: one vote for each principal, until there are as many
 * as the gate asks for, or too many against it. Why somebody has no vote here, or none any more.
 * OpenWOP "interrupt" approval
 */
function refuseVote(
  { kind, data, votes }: Interrupt,
  answer: InterruptAnswer,
): RunRefusal | undefined {
  if (kind !== "approval") return undefined;
  const { by } = voteOf(answer);
  const { approversList } = data;
  if (Array.isArray(approversList) && approversList.length > 0 && !approversList.includes(by)) {
    return refuseRun("forbidden", "the gate lists who may approve, and others may not");
  }
  if (!votes.some((vote) => vote.by === by)) return undefined;
  return refuseRun("interrupt_already_resolved", "the gate has this principal's word already");
}

/** The events of a vote, and of the decision that it brings. */
function approvalAnswered(
  interrupt: Interrupt,
  answer: InterruptAnswer,
  at: Answering,
): readonly EventDraft[] {
  const { nodeId, data } = interrupt;
  const votes = [...interrupt.votes, voteOf(answer)];
  const received = approvalReceived(interrupt, answer, at.now);
  const verdict = tally(votes, data);
  if (verdict === undefined) return [received];
  const outputs = outputsOf(answer, votes, verdict);
  const said = [received, { ...resolved(interrupt, answer, at.now, { outcome: verdict }) }];
  if (verdict === "approved" || takenLoop(at.run.workflow, nodeId, outputs) !== undefined) {
    return [...said, nodeDone(nodeId, outputs, at)];
  }
  const error = {
    code: "approval_rejected",
    message: "the gate was not approved, and no edge leads back for that",
    details: { action: outputs["action"] },
  };
  return [...said, ...nodeFailed(nodeId, error, at.state, at.now)];
}

function tally(
  votes: readonly Vote[],
  { requiredApprovals, rejectionPolicy }: JsonRecord,
): "approved" | "rejected" | undefined {
  const required = typeof requiredApprovals === "number" ? requiredApprovals : 1;
  const granted = votes.filter(({ action }) => ACCEPTING.has(action)).length;
  if (granted >= required) return "approved";
  const vetoes = rejectionPolicy === "majority" ? Math.floor(required / 2) + 1 : 1;
  return votes.length - granted >= vetoes ? "rejected" : undefined;
}

function approvalReceived(
  { nodeId, interruptId }: Interrupt,
  answer: InterruptAnswer,
  now: number,
): EventDraft {
  const { by: decidedBy, action } = voteOf(answer);
  const decided = { action, decidedBy, decidedAt: new Date(now).toISOString() };
  return {
    type: "approval.received",
    nodeId,
    payload: { nodeId, interruptId, ...decided, ...contentsOf(answer) },
  };
}

function outputsOf(
  answer: InterruptAnswer,
  votes: readonly Vote[],
  outcome: "approved" | "rejected",
): JsonRecord {
  const { action, by: decidedBy } = voteOf(answer);
  const approved = outcome === "approved";
  return { action, approved, decidedBy, votes, ...contentsOf(answer) };
}

/** The public suite names the people that it votes for; anybody else is known to the API. */
function voteOf({ resumeValue, by }: InterruptAnswer): Vote {
  const { action, voter } = isRecord(resumeValue) ? resumeValue : {};
  return { by: typeof voter === "string" ? voter : by, action: String(action) };
}

function contentsOf({ resumeValue }: InterruptAnswer): JsonRecord {
  const said = isRecord(resumeValue) ? resumeValue : {};
  const names = ["comment", "feedback", "refineFeedback", "editedArtifactData"];
  return Object.fromEntries(
    names.flatMap((name) => (said[name] === undefined ? [] : [[name, said[name]]])),
  );
}
