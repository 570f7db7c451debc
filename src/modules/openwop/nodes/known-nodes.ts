/** The node types of a deployment; the public suite's only under `conformance`. */
import type { SchemaCompiler } from "../../../schema/schema.ts";
import { type AgentExecutor, failed } from "../agent-executor.ts";
import { SUB_WORKFLOW } from "../workflows/check-workflow.ts";
import {
  type EffectLedger,
  HOLD,
  type MockAgentOptions,
  mockAgentNode,
  REQUIRES_MISSING,
  sideEffectNode,
} from "./conformance-nodes.ts";
import { CORE_NODES } from "./core-nodes.ts";
import { approvalGateNode, clarificationGateNode } from "./gates.ts";
import {
  type NodeCall,
  type NodeFault,
  type NodeOutcome,
  type NodeType,
  type NodeTypes,
  withConfigCheck,
} from "./node-type.ts";
import { SUB_WORKFLOW_NODE } from "./sub-workflow.ts";

/** By typeId. */
export function nodeTypes(options: {
  readonly executor: AgentExecutor;
  readonly compiler: SchemaCompiler;
  readonly isConformance: boolean;
  readonly mockAgent: MockAgentOptions;
  readonly effects: Pick<EffectLedger, "record">;
}): NodeTypes {
  const { executor, compiler, isConformance, mockAgent, effects } = options;
  const types: readonly (readonly [typeId: string, type: NodeType])[] = [
    ...CORE_NODES,
    ["core.agent", agentNode(executor)],
    ["core.approvalGate", approvalGateNode(isConformance)],
    ["core.clarificationGate", clarificationGateNode(compiler)],
    [SUB_WORKFLOW, SUB_WORKFLOW_NODE],
    ...(isConformance
      ? ([
          ["conformance.requiresMissing", REQUIRES_MISSING],
          ["core.conformance.mock-agent", mockAgentNode(mockAgent)],
          ["core.conformance.hold", HOLD],
          ["core.conformance.side-effect", sideEffectNode(effects)],
        ] as const)
      : []),
  ];
  return new Map(types.map(([id, type]) => [id, withConfigCheck(type)]));
}

const MAX_HANDOFFS = 8;

function agentNode(executor: AgentExecutor): NodeType {
  return {
    isEffectful: true,
    execute: (call) => execute(executor, call),
    checkNode: ({ agent }): readonly NodeFault[] =>
      agent === undefined ? [{ key: "agent", message: "is missing, expected the agent" }] : [],
  };
}

async function execute(
  executor: AgentExecutor,
  { run, node, inputs, handedOn, signal, emit }: NodeCall,
): Promise<NodeOutcome> {
  const { task = {} } = inputs;
  const promisedBy = node.agent?.agentId ?? "";
  let agentId = handedOn?.agentId ?? promisedBy;
  let next: unknown = handedOn === undefined ? task : handedOn.task;
  for (let handoffs = 0; handoffs <= MAX_HANDOFFS; handoffs += 1) {
    if (!executor.has(agentId, run.owner.tenant)) {
      return failed("agent_not_found", "the agent of the node is not installed here", { agentId });
    }
    const outcome = await executor.takeTurn({
      ...{ agentId, promisedBy, task: next, configurable: run.configurable, owner: run.owner },
      ...{ runId: run.runId, signal, emit },
    });
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
