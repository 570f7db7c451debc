/** The types of node that a deployment runs; those of the public suite only where that is asked for. */
import type { SchemaCompiler } from "../../../schema/schema.ts";
import { type AgentExecutor, type AgentOutcome, failed } from "../agent-executor.ts";
import { SUB_WORKFLOW } from "../workflows/check-workflow.ts";
import {
  type EffectLedger,
  HOLD,
  type MockAgentOptions,
  mockAgentNode,
  REQUIRES_MISSING,
  sideEffectNode,
} from "./conformance-nodes.ts";
import { CORE_NODES, channelWriteNode } from "./core-nodes.ts";
import { approvalGateNode, clarificationGateNode } from "./gates.ts";
import type { NodeCall, NodeFault, NodeOutcome, NodeType, NodeTypes } from "./node-type.ts";
import { subWorkflowNode } from "./sub-workflow.ts";

/** The type of a node that is an agent's turn. */
const AGENT_TYPE = "core.agent";

/** By typeId. */
export function nodeTypes(options: {
  readonly executor: AgentExecutor;
  readonly compiler: SchemaCompiler;
  readonly isConformance: boolean;
  readonly mockAgent: MockAgentOptions;
  readonly effects: Pick<EffectLedger, "record">;
}): NodeTypes {
  const { executor, compiler, isConformance, mockAgent, effects } = options;
  return new Map([
    ...CORE_NODES,
    [AGENT_TYPE, agentNode(executor)],
    ["core.approvalGate", approvalGateNode(compiler, { hasVoters: isConformance })],
    ["core.clarificationGate", clarificationGateNode(compiler)],
    ["core.channelWrite", channelWriteNode(compiler)],
    [SUB_WORKFLOW, subWorkflowNode(compiler)],
    ...(isConformance
      ? ([
          ["conformance.requiresMissing", REQUIRES_MISSING],
          ["core.conformance.mock-agent", mockAgentNode(compiler, mockAgent)],
          ["core.conformance.hold", HOLD],
          ["core.conformance.side-effect", sideEffectNode(effects)],
        ] as const)
      : []),
  ]);
}

const MAX_HANDOFFS = 8;

/** The node type of agents. */
function agentNode(executor: AgentExecutor): NodeType {
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
    if (executor.find(agentId, tenant) === undefined) {
      return failed("agent_not_found", "the agent of the node is not installed here", { agentId });
    }
    const outcome = await takeTurn(executor, call, agentId, next);
    if (outcome.kind === "failed") return outcome;
    if (outcome.kind === "low-confidence") return { ...outcome, agentId };
    const { result, handoffTo } = outcome;
    if (handoffTo === undefined) return { kind: "completed", outputs: { result } };
    agentId = handoffTo;
    next = result;
  }
  const message = `the task was handed on more than ${MAX_HANDOFFS} times`;
  return failed("handoff_limit_exceeded", message);
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
