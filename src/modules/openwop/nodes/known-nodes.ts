/** The types of node that a deployment runs; those of the public suite only where that is asked for. */
import type { SchemaCompiler } from "../../../schema/schema.ts";
import type { AgentExecutor } from "../agent-executor.ts";
import type { EffectLedger } from "../runs/effect-ledger.ts";
import { SUB_WORKFLOW } from "../workflows/sub-workflows.ts";
import { agentNode } from "./agent-node.ts";
import { approvalGateNode } from "./approval-gate.ts";
import { clarificationGateNode } from "./clarification-gate.ts";
import { HOLD, REQUIRES_MISSING, sideEffectNode } from "./conformance-nodes.ts";
import { CORE_NODES, channelWriteNode } from "./core-nodes.ts";
import { type MockAgentOptions, mockAgentNode } from "./mock-agent.ts";
import type { NodeTypes } from "./node-type.ts";
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
