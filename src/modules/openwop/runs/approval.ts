/**
 * The answer that an approval gate waits for: one vote for each principal, until there are as many as the
 * gate asks for, or too many against it.   OpenWOP "interrupt" approval
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { takenLoop } from "../workflows/loops.ts";
import { nodeFailed } from "./endings.ts";
import { type Answering, type InterruptAnswer, resolved } from "./interrupt-answer.ts";
import { nodeDone } from "./node-events.ts";
import type { EventDraft } from "./run-event.ts";
import { type RunRefusal, refuseRun } from "./run-refusal.ts";
import type { Interrupt, Vote } from "./run-state.ts";

const ACCEPTING: ReadonlySet<string> = new Set(["accept", "edit-accept"]);

/** Why somebody has no vote here, or none any more. */
export function refuseVote(
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
export function approvalAnswered(
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
