/**
 * The word that an approval gate waits for: one vote for each principal, until there are as many as the
 * gate asks for, or too many against it.   OpenWOP "interrupt" approval
 */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { takenLoop } from "../workflows/loops.ts";
import { nodeFailed } from "./endings.ts";
import { nodeDone } from "./node-events.ts";
import type { EventDraft } from "./run-event.ts";
import { type RunRefusal, refuseRun } from "./run-refusal.ts";
import type { Interrupt, Vote } from "./run-state.ts";
import { type Answering, resolved, type Word } from "./word.ts";

const ACCEPTING: ReadonlySet<string> = new Set(["accept", "edit-accept"]);

/** Why somebody has no vote here, or none any more. */
export function refuseVote({ kind, data, votes }: Interrupt, word: Word): RunRefusal | undefined {
  if (kind !== "approval") return undefined;
  const { by } = voteOf(word);
  const { approversList } = data;
  if (Array.isArray(approversList) && approversList.length > 0 && !approversList.includes(by)) {
    return refuseRun("forbidden", "the gate lists who may approve, and others may not");
  }
  if (!votes.some((vote) => vote.by === by)) return undefined;
  return refuseRun("interrupt_already_resolved", "the gate has this principal's word already");
}

/** What the run says of a vote, and of what it decides. */
export function approvalAnswered(
  interrupt: Interrupt,
  word: Word,
  at: Answering,
): readonly EventDraft[] {
  const { nodeId, data } = interrupt;
  const votes = [...interrupt.votes, voteOf(word)];
  const received = approvalReceived(interrupt, word, at.now);
  const verdict = tally(votes, data);
  if (verdict === undefined) return [received];
  const outputs = outputsOf(word, votes, verdict);
  const said = [received, { ...resolved(interrupt, word, at.now, { outcome: verdict }) }];
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

function approvalReceived({ nodeId, interruptId }: Interrupt, word: Word, now: number): EventDraft {
  const { by: decidedBy, action } = voteOf(word);
  const decided = { action, decidedBy, decidedAt: new Date(now).toISOString() };
  return {
    type: "approval.received",
    nodeId,
    payload: { nodeId, interruptId, ...decided, ...contentsOf(word) },
  };
}

function outputsOf(
  word: Word,
  votes: readonly Vote[],
  outcome: "approved" | "rejected",
): JsonRecord {
  const { action, by: decidedBy } = voteOf(word);
  const approved = outcome === "approved";
  return { action, approved, decidedBy, votes, ...contentsOf(word) };
}

/** The public suite names the people that it votes for; of anybody else the face knows who it is. */
function voteOf({ resumeValue, by }: Word): Vote {
  const { action, voter } = isRecord(resumeValue) ? resumeValue : {};
  return { by: typeof voter === "string" ? voter : by, action: String(action) };
}

function contentsOf({ resumeValue }: Word): JsonRecord {
  const said = isRecord(resumeValue) ? resumeValue : {};
  const names = ["comment", "feedback", "refineFeedback", "editedArtifactData"];
  return Object.fromEntries(
    names.flatMap((name) => (said[name] === undefined ? [] : [[name, said[name]]])),
  );
}
