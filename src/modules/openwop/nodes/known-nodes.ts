/** Which types of node a deployment runs; those of the public suite only where that is asked for. */
import type { SchemaCompiler } from "../../../schema/schema.ts";
import type { AgentExecutor } from "../agent-executor.ts";
import { agentNode } from "./agent-node.ts";
import { CORE_NODES } from "./core-nodes.ts";
import { type MockAgentOptions, mockAgentNode } from "./mock-agent.ts";
import type { NodeTypes } from "./node-type.ts";
import { REQUIRES_MISSING } from "./requires-missing.ts";

/** The type of a node that is an agent's turn. */
const AGENT_TYPE = "core.agent";

/** By typeId. */
export function nodeTypes(options: {
  readonly executor: AgentExecutor;
  readonly compiler: SchemaCompiler;
  readonly isConformance: boolean;
  readonly mockAgent: MockAgentOptions;
}): NodeTypes {
  const { executor, compiler, isConformance, mockAgent } = options;
  return new Map([
    ...CORE_NODES,
    [AGENT_TYPE, agentNode(executor)],
    ...(isConformance
      ? ([
          ["conformance.requiresMissing", REQUIRES_MISSING],
          ["core.conformance.mock-agent", mockAgentNode(compiler, mockAgent)],
        ] as const)
      : []),
  ]);
}
