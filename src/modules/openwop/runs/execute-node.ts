/**
 * One execution of a node, with what it says on the way. A node that does not hear the signal is left
 * behind, and what it says then is not kept.   OpenWOP RFC 0072 §B
 */

import { raceAbort } from "../../../base/deadline.ts";
import type { JsonRecord } from "../../../base/json-value.ts";
import type { AgentEvent } from "../agent-executor.ts";
import type { NodeCall, NodeOutcome } from "../nodes/node-type.ts";
import type { WorkflowNode } from "../workflows/workflow.ts";
import type { ChildRuns } from "./child-request.ts";
import type { CopyOptions } from "./copy-history.ts";
import type { EventDraft, RunEvent } from "./run-event.ts";
import type { RunLog } from "./run-log.ts";

/** The parts that an execution takes besides the node. */
export interface ExecutionParts {
  readonly log: RunLog;
  readonly signal: AbortSignal;
  /** When the node was begun, in milliseconds since the epoch. */
  readonly startedAt: number;
  readonly options: CopyOptions & { readonly children: ChildRuns };
  append(drafts: readonly EventDraft[]): Promise<readonly RunEvent[]>;
}

/** Executes a node that is begun; rejects once the signal is aborted. */
export async function executeNode(
  node: WorkflowNode,
  inputs: JsonRecord,
  { log, signal, startedAt, options, append }: ExecutionParts,
): Promise<NodeOutcome> {
  const type = options.types.get(node.typeId);
  if (type === undefined) {
    const message = `this server runs no nodes of type "${node.typeId}" any more`;
    return { kind: "failed", error: { code: "capability_not_provided", message } };
  }
  let isOpen = true;
  const emit = async (event: AgentEvent): Promise<string> => {
    signal.throwIfAborted();
    if (!isOpen) throw new Error("the turn is over");
    const [kept] = await append([{ ...event, nodeId: node.id }]);
    return kept?.eventId ?? "";
  };
  const call: NodeCall = {
    ...{ run: log.run, state: log.state, node, inputs, startedAt, signal, emit },
    ...{ now: options.register.now(), children: options.children },
    startedSequence: log.state.nodes[node.id]?.startedSequence ?? 0,
    ...(await handedOn(log, node, options)),
  };
  // The run may have been stopped since the node was begun.
  signal.throwIfAborted();
  try {
    const outcome = await raceAbort(Promise.resolve(type.execute(call)), signal);
    if (outcome === "aborted") throw signal.reason;
    return outcome;
  } finally {
    isOpen = false;
  }
}

/** The agent that an answer has let the turn be handed to, with its task. */
async function handedOn(
  { run, state }: RunLog,
  { id }: WorkflowNode,
  { register }: ExecutionParts["options"],
): Promise<Pick<NodeCall, "handedOn">> {
  const agentId = state.nodes[id]?.handedTo;
  const interrupt = state.interrupts[id];
  if (agentId === undefined || interrupt === undefined) return {};
  return { handedOn: { agentId, task: await register.pendingResult(run.runId, interrupt) } };
}
