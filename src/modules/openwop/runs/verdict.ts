/**
 * The answer that an interrupt waits for: an operator lets the agent's decision stand, puts another in
 * its place, or turns it down.   OpenWOP "interrupt" low-confidence, RFC 0002 §F
 */
import { isRecord } from "../../../base/json-value.ts";
import { type EventDraft, isOver } from "./run.ts";
import { interruptResolved, nodeDone, nodeFailed } from "./run-events.ts";
import { type RunRefusal, refuseRun } from "./run-refusal.ts";
import type { Answering, Interrupt, InterruptAnswer, RunState } from "./run-state.ts";

interface Verdict {
  readonly kind: "stands" | "replaced" | "rejected";
  /** The decision that holds from now on. */
  readonly decision: unknown;
}

/** The interrupt that a node waits for, or has waited for. */
export function interruptOf({ interrupts }: RunState, nodeId: string): Interrupt | undefined {
  return Object.hasOwn(interrupts, nodeId) ? interrupts[nodeId] : undefined;
}

/** Refuses an answer that a node takes no more. */
export function refuseAnswer(state: RunState, nodeId: string): RunRefusal | undefined {
  if (interruptOf(state, nodeId)?.isResolved === true) {
    return refuseRun("interrupt_already_resolved", "the node has been answered already");
  }
  if (isOver(state.status)) {
    return refuseRun("interrupt_cancelled", "the run is over, and waits for nothing");
  }
  return undefined;
}

/** The events of a decision that has its answer. */
export function decisionAnswered(
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

const ACCEPTING: ReadonlySet<unknown> = new Set(["accept", "accepted", "approve", "approved"]);
const REJECTING: ReadonlySet<unknown> = new Set(["reject", "rejected", "deny", "denied"]);

/** Tells whether an answer turns the decision down. */
export function isRejection(resumeValue: unknown): boolean {
  return readVerdict(resumeValue).kind === "rejected";
}

/** The forms that operators' tools write; any other value is the decision itself. */
function readVerdict(value: unknown, proposed?: unknown): Verdict {
  const stands: Verdict = { kind: "stands", decision: proposed };
  if (value === true || ACCEPTING.has(value)) return stands;
  if (value === false || REJECTING.has(value)) return turnedDown();
  if (!isRecord(value)) return { kind: "replaced", decision: value };
  const { decision, ratified, approved, accepted, rejected, action, status, reason } = value;
  const words = [action, status];
  const isRejected =
    rejected === true ||
    [ratified, approved, accepted].includes(false) ||
    words.some((word) => REJECTING.has(word));
  if (isRejected) return turnedDown(reason);
  if (decision !== undefined) return { kind: "replaced", decision };
  const isAccepted =
    [ratified, approved, accepted].includes(true) || words.some((word) => ACCEPTING.has(word));
  return isAccepted ? stands : { kind: "replaced", decision: value };
}

function turnedDown(reason?: unknown): Verdict {
  return { kind: "rejected", decision: { rejected: true, reason } };
}
