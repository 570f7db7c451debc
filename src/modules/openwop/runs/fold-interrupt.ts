/** Interrupts in the log, folded into where a run stands.   OpenWOP "interrupt" */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { Handoff } from "../agent-executor.ts";
import type { RunEvent } from "./run-event.ts";
import type { Interrupt, InterruptKind, RunState } from "./run-state.ts";

/** After an event of a wait; other events change nothing. */
export function applyInterrupt(state: RunState, event: RunEvent, nodeId: string): RunState {
  if (event.type === "node.suspended") return suspended(state, event, nodeId);
  const interrupt = state.interrupts[nodeId];
  if (interrupt === undefined) return state;
  if (event.type === "approval.received") {
    const { decidedBy, action } = event.payload;
    const votes = [...interrupt.votes, { by: String(decidedBy), action: String(action) }];
    return withInterrupt(state, { ...interrupt, votes });
  }
  if (event.type !== "interrupt.resolved") return state;
  const answered = withInterrupt(state, { ...interrupt, isResolved: true });
  const nodes = {
    ...state.nodes,
    [nodeId]: { ...state.nodes[nodeId], status: "running" } as const,
  };
  return { ...answered, nodes, status: "running" };
}

function suspended(state: RunState, { payload, timestamp }: RunEvent, nodeId: string): RunState {
  const kind = kindOf(payload);
  const { resumeSchema } = payload;
  const interrupt: Interrupt = {
    ...{ interruptId: String(payload["interruptId"]), nodeId, kind, votes: [] },
    ...{ data: dataOf(kind, payload), requestedAt: timestamp, isResolved: false },
    ...(isRecord(resumeSchema) ? { resumeSchema } : {}),
    ...readHandoff(payload),
  };
  const nodes = {
    ...state.nodes,
    [nodeId]: { ...state.nodes[nodeId], status: "suspended" } as const,
  };
  const status = kind === "clarification" ? "waiting-input" : "waiting-approval";
  return { ...withInterrupt(state, interrupt), nodes, status, currentNodeId: nodeId };
}

function withInterrupt(state: RunState, interrupt: Interrupt): RunState {
  return { ...state, interrupts: { ...state.interrupts, [interrupt.nodeId]: interrupt } };
}

function kindOf({ kind }: JsonRecord): InterruptKind {
  return kind === "approval" || kind === "clarification" ? kind : "low-confidence";
}

/** The members of the event that the interrupt's own schema has.   OpenWOP "suspend-request" */
function dataOf(kind: InterruptKind, { data, ...payload }: JsonRecord): JsonRecord {
  if (kind !== "low-confidence") return isRecord(data) ? data : {};
  const { agentId, threshold, observed, decision } = payload;
  return { agentId, threshold, observed, ...(decision === undefined ? {} : { decision }) };
}

/** The handoff that node.suspended carries; none in logs of agents that do not hand on. */
function readHandoff({ handoff }: JsonRecord): { readonly handoff?: Handoff } {
  if (!isRecord(handoff) || typeof handoff["toAgentId"] !== "string") return {};
  const { toAgentId, reason } = handoff;
  return { handoff: { toAgentId, ...(typeof reason === "string" ? { reason } : {}) } };
}
