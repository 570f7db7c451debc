/**
 * core.agent: a turn of the pinned agent, its task the node's input `task`. An agent that hands off
 * gives its result to the next one as a task, within the same node.   OpenWOP RFC 0072 §B
 */
import type { AgentExecutor, AgentOutcome, RunError } from "../agent-executor.ts";
import type { NodeCall, NodeFault, NodeOutcome, NodeType } from "./node-type.ts";

const MAX_HANDOFFS = 8;

/** The node type of agents. */
export function agentNode(executor: AgentExecutor): NodeType {
  return {
    isEffectful: true,
    execute: (call) => execute(executor, call),
    checkNode: ({ agent }): readonly NodeFault[] =>
      agent === undefined ? [{ key: "agent", message: "is missing, expected the agent" }] : [],
  };
}

async function execute(executor: AgentExecutor, call: NodeCall): Promise<NodeOutcome> {
  const { task = {} } = call.inputs;
  let agentId = call.handedOn?.agentId ?? call.node.agent?.agentId ?? "";
  let next: unknown = call.handedOn === undefined ? task : call.handedOn.task;
  for (let handoffs = 0; handoffs <= MAX_HANDOFFS; handoffs += 1) {
    const { tenant } = call.run.owner;
    if (executor.find(agentId, tenant) === undefined) return failed(unknownAgent(agentId));
    const outcome = await takeTurn(executor, call, agentId, next);
    if (outcome.kind === "failed") return failed(outcome.error);
    if (outcome.kind === "low-confidence") return { ...outcome, agentId };
    const { result, handoffTo } = outcome;
    if (handoffTo === undefined) return { kind: "completed", outputs: { result } };
    agentId = handoffTo;
    next = result;
  }
  const message = `the task was handed on more than ${MAX_HANDOFFS} times`;
  return failed({ code: "handoff_limit_exceeded", message });
}

function takeTurn(
  executor: AgentExecutor,
  { run, node, signal, emit }: NodeCall,
  agentId: string,
  task: unknown,
): Promise<AgentOutcome> {
  return executor.takeTurn({
    ...{ agentId, task, configurable: run.configurable, owner: run.owner },
    ...{ runId: run.runId, nodeId: node.id, signal, emit },
  });
}

function failed(error: RunError): NodeOutcome {
  return { kind: "failed", error };
}

function unknownAgent(agentId: string): RunError {
  const message = "the agent of the node is not installed here";
  return { code: "agent_not_found", message, details: { agentId } };
}
