/**
 * The workflow of one node that dispatching an agent comes to: the same that anybody could write
 * with the agent pinned.   OpenWOP RFC 0072 §B
 */
import { sha256Hex } from "../../../identity/canonical-form.ts";
import type { InventoryEntry } from "../agent-catalog.ts";
import type { AgentRef, WorkflowDefinition } from "./workflow.ts";

/** Manifests and references name classes of model differently. */
const MODEL_CLASSES: Readonly<Record<string, string>> = {
  reasoning: "reasoning",
  classification: "classification",
  writing: "chat",
  general: "chat",
  coding: "code",
  research: "retrieval",
};

/** Its only node. */
export const AGENT_NODE = "agent";

/** The generated definition; its id is the agent's, as an id of workflows can be. */
export function agentWorkflow(entry: InventoryEntry): WorkflowDefinition {
  const { agentId, label } = entry;
  return {
    ...{ id: workflowIdOf(agentId), name: label, version: entry.packVersion },
    nodes: [
      {
        ...{ id: AGENT_NODE, typeId: "core.agent", name: label, position: { x: 0, y: 0 } },
        config: {},
        inputs: { task: { type: "variable", variableName: "task", optional: true } },
        agent: agentRef(entry),
      },
    ],
    ...{ edges: [], variables: [], metadata: {}, settings: {} },
    ...{ triggers: [{ id: "manual", type: "manual" }] },
  };
}

/** The reference that stands on the node, and on the run's snapshot. */
export function agentRef({ agentId, label, modelClass, packVersion }: InventoryEntry): AgentRef {
  const known = MODEL_CLASSES[modelClass];
  return {
    ...{ agentId, name: label, version: packVersion, sourceManifestId: agentId },
    ...(known === undefined ? {} : { modelClass: known }),
  };
}

/** Two agents whose ids differ in what cannot stand in an id are told apart by a digest. */
function workflowIdOf(agentId: string): string {
  const readable = agentId.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, "-");
  return `agent-${readable.slice(0, 96)}-${sha256Hex(agentId).slice(0, 8)}`;
}
