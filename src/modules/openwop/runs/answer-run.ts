/**
 * Answers the interrupt of a run's node. The first answer counts; a gate may need several votes, of which each
 * principal's first counts. A low-confidence decision can be approved, replaced or rejected.   OpenWOP "interrupt",
 * RFC 0002 §F
 */
import { given, isRecord, type JsonRecord, memberOf, recordIn } from "../../../base/json-value.ts";
import type { SchemaViolation } from "../../../schema/schema.ts";
import type { AlsoChange } from "../../../state/collection-write.ts";
import { takenLoop } from "../workflows/workflow-graph.ts";
import { invalid, under } from "./make-run.ts";
import {
  type EventDraft,
  isOver,
  isWaiting,
  type RunEvent,
  type RunRefusal,
  refuseRun,
} from "./run.ts";
import { interruptResolved, nodeDone, nodeEvent, nodeFailed } from "./run-events.ts";
import type { RunLog } from "./run-log.ts";
import type {
  Answering,
  Interrupt,
  InterruptAnswer,
  InterruptOutcome,
  RunState,
  Vote,
} from "./run-state.ts";
import type { RunParts } from "./workflow-runs.ts";

/** A run with an answer or vote just recorded. */
export interface AnsweredRun {
  readonly log: RunLog;
  readonly interruptId: string;
  /** The event that records it. */
  readonly eventId: string;
  /** Undefined for a vote that leaves the gate open. */
  readonly outcome: InterruptOutcome | undefined;
  readonly votes: readonly Vote[];
}

/** Returns changes to commit with an answer; `votes` is given if the gate stays open. */
export type BesideAnswer = (votes: readonly Vote[] | undefined) => readonly AlsoChange[];

/** Answers a node, committing `beside` with it; the caller then enqueues the run. */
export async function answerRun(
  log: RunLog,
  nodeId: string,
  stated: InterruptAnswer,
  { register, watchers, compiler, redact }: RunParts,
  beside: BesideAnswer,
): Promise<AnsweredRun | RunRefusal> {
  const { run } = log;
  const interrupt = interruptOf(log.state, nodeId);
  if (interrupt === undefined) return nothingAsked();
  const { resumeValue: written } = stated;
  const isClarification = interrupt.kind === "clarification";
  // Bound to this interrupt: the node may have asked another by commit time.
  const answer = {
    ...{ interruptId: interrupt.interruptId, ...stated },
    resumeValue: isClarification ? readAnswers(written) : written,
  };
  const misfit =
    refuseMisfit(interrupt, answer, compiler) ?? refuseContradiction(answer, interrupt);
  if (misfit !== undefined) return redact(misfit);
  const result = await register.pendingResult(run.runId, interrupt);
  let refusal: RunRefusal | undefined;
  let votes: readonly Vote[] = [];
  let isVote = false;
  const events = await log.append(
    (state) => {
      const now = interruptOf(state, nodeId) ?? interrupt;
      refusal = refuseAnswer(state, nodeId, answer) ?? refuseVote(now, answer);
      if (refusal !== undefined) return [];
      votes = now.kind === "approval" ? [...now.votes, voteOf(answer)] : [];
      const said = answered(now, answer, result, { state, run, now: register.now() });
      isVote = !said.some(({ type }) => type === "interrupt.resolved");
      return said;
    },
    () => beside(isVote ? votes : undefined),
  );
  if (refusal !== undefined) return refusal;
  const [outcome] = events.flatMap((event) => outcomeIn(event, interrupt.interruptId) ?? []);
  if (outcome === undefined) {
    for (const watcher of watchers) watcher.onInterrupt(run, { ...interrupt, votes });
  } else if (answer.isToldByCaller !== true) {
    for (const watcher of watchers) watcher.onAnswer(run, interrupt, outcome);
  }
  const { interruptId } = interrupt;
  return { log, interruptId, eventId: events[0]?.eventId ?? "", outcome, votes };
}

/** Refuses an answer that violates the interrupt's schema. */
function refuseMisfit(
  { resumeSchema }: Interrupt,
  { resumeValue }: InterruptAnswer,
  compiler: RunParts["compiler"],
): RunRefusal | undefined {
  if (resumeSchema === undefined) return undefined;
  const place = { file: "interrupt", key: "resumeSchema" };
  const { compiled } = compiler.compile(resumeSchema, place);
  // An earlier version redacted the schema itself, which left it invalid.
  if (compiled === undefined) return invalid([BROKEN_QUESTION]);
  const violations = compiled.check(resumeValue) ?? [];
  return violations.length === 0 ? undefined : invalid(violations.map(under("/resumeValue")));
}

const BROKEN_QUESTION: SchemaViolation = {
  ...{ path: "/resumeValue", keyword: "resumeSchema" },
  message: "cannot be judged, because the question's schema is broken: cancel the run",
};

/** Refuses an answer that contradicts the status sent with it. */
function refuseContradiction(
  { resumeValue, isApproving: isMeant }: InterruptAnswer,
  { kind }: Interrupt,
): RunRefusal | undefined {
  if (isMeant === undefined || kind === "clarification") return undefined;
  const isYes =
    kind === "approval"
      ? isApproving(recordIn(resumeValue)["action"])
      : readVerdict(resumeValue).kind !== "rejected";
  if (isYes === isMeant) return undefined;
  const message = `contradicts the status, which is ${isMeant ? "accepted" : "rejected"}`;
  return invalid([{ path: "/resumeValue", keyword: "const", message }]);
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
 * Normalizes a clarification's answers to an object by question id; a list of `{id, answer}` is also accepted.
 * OpenWOP "interrupt" clarification
 */
function readAnswers(resumeValue: unknown): unknown {
  const { answers } = recordIn(resumeValue);
  if (!isRecord(resumeValue) || !Array.isArray(answers)) return resumeValue;
  const ids = new Set(answers.map((one) => recordIn(one)["id"]));
  const isWhole = answers.every(
    (one) => isRecord(one) && typeof one["id"] === "string" && Object.hasOwn(one, "answer"),
  );
  if (!isWhole || ids.size < answers.length) return resumeValue;
  const read = answers.map((one: JsonRecord) => [String(one["id"]), one["answer"]]);
  return { ...resumeValue, answers: Object.fromEntries(read) };
}

function clarificationAnswered(
  interrupt: Interrupt,
  answer: InterruptAnswer,
  at: Answering,
): readonly EventDraft[] {
  const { nodeId, interruptId } = interrupt;
  const answers = recordIn(recordIn(answer.resumeValue)["answers"]);
  return [
    interruptResolved(interrupt, answer, at.now),
    nodeEvent("clarification.resolved", nodeId, { interruptId, answers, answeredBy: answer.by }),
    nodeDone(nodeId, { ...answers, answers }, at),
  ];
}

/** The actions that approve. */
const APPROVING: ReadonlySet<unknown> = new Set(["accept", "edit-accept"]);

/** Tells whether an action approves. */
export function isApproving(action: unknown): boolean {
  return APPROVING.has(action);
}

/**
 * Refuses a vote of a principal that the gate does not list, or that has voted already.   OpenWOP "interrupt" approval
 */
function refuseVote(
  { kind, data, votes }: Interrupt,
  answer: InterruptAnswer,
): RunRefusal | undefined {
  if (kind !== "approval") return undefined;
  const { by } = voteOf(answer);
  const { approversList } = data;
  const names = by === answer.by ? [by, ...(answer.alsoKnownAs ?? [])] : [by];
  const isListed = (one: unknown): boolean => names.includes(String(one));
  if (Array.isArray(approversList) && approversList.length > 0 && !approversList.some(isListed)) {
    return refuseRun("forbidden", "the gate lists who may approve, and others may not");
  }
  if (!votes.some((vote) => vote.by === by)) return undefined;
  return refuseRun("interrupt_already_resolved", "the gate has this principal's word already");
}

/** The events of a vote, and of the gate's decision once the votes suffice. */
function approvalAnswered(
  interrupt: Interrupt,
  answer: InterruptAnswer,
  at: Answering,
): readonly EventDraft[] {
  const { nodeId, interruptId, data } = interrupt;
  const vote = voteOf(answer);
  const votes = [...interrupt.votes, vote];
  const { action, by: decidedBy } = vote;
  const contents = contentsOf(answer);
  const decidedAt = new Date(at.now).toISOString();
  const decided = { interruptId, action, decidedBy, decidedAt, ...contents };
  const received = nodeEvent("approval.received", nodeId, decided);
  const outcome = tally(votes, data);
  if (outcome === undefined) return [received];
  const outputs = { action, approved: outcome === "approved", decidedBy, votes, ...contents };
  const said = [received, interruptResolved(interrupt, answer, at.now, { outcome })];
  if (outcome === "approved" || takenLoop(at.run.workflow, nodeId, outputs) !== undefined) {
    return [...said, nodeDone(nodeId, outputs, at)];
  }
  const message = "the gate was not approved, and no edge leads back for that";
  const error = { code: "approval_rejected", message, details: { action } };
  return [...said, ...nodeFailed(nodeId, error, at.state, at.now)];
}

function tally(
  votes: readonly Vote[],
  { requiredApprovals, rejectionPolicy }: JsonRecord,
): "approved" | "rejected" | undefined {
  const required = typeof requiredApprovals === "number" ? requiredApprovals : 1;
  const granted = votes.filter(({ action }) => isApproving(action)).length;
  if (granted >= required) return "approved";
  const vetoes = rejectionPolicy === "majority" ? Math.floor(required / 2) + 1 : 1;
  return votes.length - granted >= vetoes ? "rejected" : undefined;
}

/** The voter is the caller, except that the public suite may name another. */
function voteOf({ resumeValue, by }: InterruptAnswer): Vote {
  const { action, voter } = recordIn(resumeValue);
  return { by: typeof voter === "string" ? voter : by, action: String(action) };
}

function contentsOf({ resumeValue }: InterruptAnswer): JsonRecord {
  const { comment, feedback, refineFeedback, editedArtifactData } = recordIn(resumeValue);
  return given({ comment, feedback, refineFeedback, editedArtifactData });
}

interface Verdict {
  readonly kind: "stands" | "replaced" | "rejected";
  /** The decision that is in force. */
  readonly decision: unknown;
}

/** The latest interrupt of a node, open or resolved. */
export function interruptOf({ interrupts }: RunState, nodeId: string): Interrupt | undefined {
  return memberOf(interrupts, nodeId);
}

/** Refuses an answer if the node has no such open interrupt. */
export function refuseAnswer(
  state: RunState,
  nodeId: string,
  { interruptId: meant }: Pick<InterruptAnswer, "interruptId"> = {},
): RunRefusal | undefined {
  const interrupt = interruptOf(state, nodeId);
  if (interrupt === undefined) return nothingAsked();
  const { isResolved, interruptId } = interrupt;
  if (isResolved || (meant !== undefined && meant !== interruptId)) {
    return refuseRun("interrupt_already_resolved", "the node has been answered already");
  }
  if (isOver(state.status)) {
    return refuseRun("interrupt_cancelled", "the run is over, and waits for nothing");
  }
  // A fork still being copied has no open interrupts, even if its source did.
  return isWaiting(state.status) ? undefined : nothingAsked();
}

function nothingAsked(): RunRefusal {
  return refuseRun("interrupt_not_found", "the node of this run waits for nothing");
}

function decisionAnswered(
  interrupt: Interrupt,
  answer: InterruptAnswer,
  result: unknown,
  at: Answering,
): readonly EventDraft[] {
  const { resumeValue, by } = answer;
  const { nodeId, handoff } = interrupt;
  const { agentId, decision: proposed } = interrupt.data;
  const { kind, decision } = readVerdict(resumeValue, proposed ?? null);
  const said: readonly EventDraft[] = [
    interruptResolved(interrupt, answer, at.now),
    { type: "agent.decided", nodeId, payload: { agentId, decision, ratifiedBy: by } },
  ];
  if (kind === "rejected") {
    const error = { code: "decision_rejected", message: "the agent's decision was turned down" };
    return [...said, ...nodeFailed(nodeId, error, at.state, at.now)];
  }
  if (kind === "stands" && handoff !== undefined) {
    const payload = { fromAgentId: agentId, ...handoff, ratifiedBy: by };
    return [...said, { type: "agent.handoff", nodeId, payload }];
  }
  return [...said, nodeDone(nodeId, { result: result ?? null, decision }, at)];
}

const YES: ReadonlySet<unknown> = new Set(["accept", "accepted", "approve", "approved"]);
const NO: ReadonlySet<unknown> = new Set(["reject", "rejected", "deny", "denied"]);

/** The outcome that an event gives an interrupt; derived from the log, so it survives a kill. */
export function outcomeIn(
  { type, payload }: Pick<RunEvent, "type" | "payload">,
  interruptId: string,
): InterruptOutcome | undefined {
  if (type !== "interrupt.resolved" || payload["interruptId"] !== interruptId) return undefined;
  const { kind, outcome, resumeValue, resolvedBy } = payload;
  const isAccepted =
    kind === "approval" ? outcome === "approved" : readVerdict(resumeValue).kind !== "rejected";
  return { isAccepted, by: String(resolvedBy) };
}

/** Reads the forms that operators' tools send; any other value replaces the decision. */
function readVerdict(value: unknown, proposed?: unknown): Verdict {
  const stands: Verdict = { kind: "stands", decision: proposed };
  if (value === true || YES.has(value)) return stands;
  if (value === false || NO.has(value)) return turnedDown();
  if (!isRecord(value)) return { kind: "replaced", decision: value };
  const { decision, ratified, approved, accepted, rejected, action, status, reason } = value;
  const words = [action, status];
  const isRejected =
    rejected === true ||
    [ratified, approved, accepted].includes(false) ||
    words.some((word) => NO.has(word));
  if (isRejected) return turnedDown(reason);
  if (decision !== undefined) return { kind: "replaced", decision };
  const isAccepted =
    [ratified, approved, accepted].includes(true) || words.some((word) => YES.has(word));
  return isAccepted ? stands : { kind: "replaced", decision: value };
}

function turnedDown(reason?: unknown): Verdict {
  return { kind: "rejected", decision: { rejected: true, reason } };
}
