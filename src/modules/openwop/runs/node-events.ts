/** The events of a node, whose payloads name it.   OpenWOP "run-event-payloads" */

import type { JsonRecord } from "../../../base/json-value.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import type { NodeOutcome, SuspendRequest } from "../nodes/node-type.ts";
import type { WorkflowNode } from "../workflows/workflow.ts";
import type { NodeExecution } from "./child-request.ts";
import type { Answering } from "./interrupt-answer.ts";
import type { EventDraft } from "./run-event.ts";

/** It is begun. */
export function nodeStarted(node: WorkflowNode, attempt: number): EventDraft {
  const { id: nodeId, typeId } = node;
  return {
    type: "node.started",
    nodeId,
    payload: { nodeId, typeId, attempt, ...agentOf(node) },
  };
}

/** It is done. */
export function nodeCompleted(
  node: Pick<WorkflowNode, "id" | "agent">,
  outputs: JsonRecord,
  elapsedMs: number,
): EventDraft {
  const { id: nodeId } = node;
  const durationMs = Math.max(0, elapsedMs);
  return {
    type: "node.completed",
    nodeId,
    payload: { nodeId, outputs, durationMs, ...agentOf(node) },
  };
}

/** The run goes from one agent to another between two nodes. */
export function nodeHandoff(
  { id: toNodeId, agent }: WorkflowNode,
  fromAgentId: string | undefined,
): readonly EventDraft[] {
  if (agent === undefined || fromAgentId === undefined) return [];
  const { agentId: toAgentId } = agent;
  if (fromAgentId === toAgentId) return [];
  const reason = "the next node is another agent's";
  return [{ type: "agent.handoff", payload: { fromAgentId, toAgentId, reason, toNodeId } }];
}

/** Completes a node that has the answer it waited for. */
export function nodeDone(nodeId: string, outputs: JsonRecord, at: Answering): EventDraft {
  const { state, run, now } = at;
  const startedAt = Date.parse(state.nodes[nodeId]?.startedAt ?? "");
  const node = run.workflow.nodes.find(({ id }) => id === nodeId) ?? { id: nodeId };
  return nodeCompleted(node, outputs, now - startedAt);
}

/** The node waits for an answer: an event for those who follow nodes, and one for those who answer. */
export function interruptRequested(
  { kind, data, resumeSchema }: SuspendRequest,
  { run, nodeId, startedSequence }: NodeExecution,
): readonly EventDraft[] {
  const asked = { kind, key: `${run.runId}:${nodeId}:${startedSequence}`, data, resumeSchema };
  const suspended = { nodeId, interruptId: uuidv7(), reason: kind, ...asked };
  return [
    { type: "node.suspended", nodeId, payload: suspended },
    { type: "interrupt.requested", nodeId, payload: asked },
  ];
}

/** RFC 0002 §F: the agent was not sure, and the run waits for an answer. */
export function nodeSuspended(
  nodeId: string,
  outcome: Extract<NodeOutcome, { kind: "low-confidence" }>,
): EventDraft {
  const { kind, agentId, threshold, observed, decision, handoff } = outcome;
  return {
    type: "node.suspended",
    nodeId,
    payload: {
      ...{ nodeId, interruptId: uuidv7(), kind, reason: kind },
      ...{ agentId, threshold, observed, decision },
      ...(handoff === undefined ? {} : { handoff }),
    },
  };
}

function agentOf({ agent }: Pick<WorkflowNode, "agent">): JsonRecord {
  return agent === undefined ? {} : { agent };
}
