/**
 * The workflow of one node that dispatching an agent comes to: the same that anybody could write
 * with the agent pinned.   OpenWOP RFC 0072 §B
 */
import { sha256Hex } from "../../../identity/canonical-form.ts";
import type { AgentCatalog } from "../agent-catalog.ts";
import type { AgentRef } from "../agent-registry.ts";
import type { WorkflowDefinition } from "./workflow.ts";

const NODE = "agent";

/** The definition for an agent; undefined: there is none, for this tenant. */
export function agentWorkflow(
  catalog: AgentCatalog,
  agentId: string,
  tenant: string,
): WorkflowDefinition | undefined {
  const agent = catalog.reference(agentId, tenant);
  return agent && definitionFor(agent);
}

/** Finds the workflow of an agent by the id that such a definition has. */
export function findAgentWorkflow(
  catalog: AgentCatalog,
  workflowId: string,
  tenant: string,
): WorkflowDefinition | undefined {
  const entry = catalog
    .inventory(tenant)
    .find(({ agentId }) => agentWorkflowId(agentId) === workflowId);
  return entry && agentWorkflow(catalog, entry.agentId, tenant);
}

function definitionFor(agent: AgentRef): WorkflowDefinition {
  const { agentId, name, version } = agent;
  const node = {
    ...{ id: NODE, typeId: "core.agent", name, position: { x: 0, y: 0 }, config: {} },
    inputs: { task: { type: "variable", variableName: "task", optional: true } as const },
    agent,
  };
  const triggers = [{ id: "manual", type: "manual" }];
  return {
    ...{ id: agentWorkflowId(agentId), name, version, nodes: [node], edges: [], triggers },
    ...{ variables: [], metadata: {}, settings: {} },
  };
}

/** Two agents whose ids differ in what cannot stand in an id are told apart by a digest. */
function agentWorkflowId(agentId: string): string {
  const readable = agentId.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, "-");
  return `agent-${readable.slice(0, 96)}-${sha256Hex(agentId).slice(0, 8)}`;
}
