/**
 * Checks the agents that a workflow pins against the installed ones, so that a run names the agent that really did the
 * work. A pin of an agent that is not installed stays as its author wrote it.   OpenWOP RFC 0002 §A, RFC 0082 §A
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { AgentCatalog } from "../agent-catalog.ts";
import type { RunError } from "../agent-executor.ts";
import { NO_CHANNELS } from "../workflows/check-workflow.ts";
import type { PinnedAgent, WorkflowDefinition } from "../workflows/workflow.ts";
import type { Run } from "./run.ts";
import type { RunParts } from "./workflow-runs.ts";

interface PinFault {
  /** The wrong member of the pin. */
  readonly member: keyof PinnedAgent;
  readonly message: string;
  readonly details: JsonRecord;
}

type Agents = Pick<AgentCatalog, "reference">;

/** Optional members of a pin, which must match the installed agent if present. */
const PROVENANCE = ["version", "sourceManifestId", "name"] as const;

/** Undefined if the pin matches the installed agent, or the agent is not installed. */
export function findPinFault(
  pin: PinnedAgent,
  catalog: Agents,
  tenant: string,
): PinFault | undefined {
  const { agentId, channel } = pin;
  if (channel !== undefined) {
    return { member: "channel", message: NO_CHANNELS, details: { agentId, channel } };
  }
  const reference = catalog.reference(agentId, tenant);
  if (reference === undefined) return undefined;
  const member = PROVENANCE.find((one) => pin[one] !== undefined && pin[one] !== reference[one]);
  if (member === undefined) return undefined;
  const message = `is not the installed agent's: ${agentId} has another ${member}`;
  const details = { agentId, member, pinned: pin[member], installed: reference[member] };
  return { member, message, details };
}

/** Finds the first wrong pin of a definition, with its node. */
export function findWrongPin(
  { nodes }: WorkflowDefinition,
  catalog: Agents,
  tenant: string,
): { readonly nodeId: string; readonly fault: PinFault } | undefined {
  for (const { id: nodeId, agent } of nodes) {
    const fault = agent && findPinFault(agent, catalog, tenant);
    if (fault !== undefined) return { nodeId, fault };
  }
  return undefined;
}

/** Completes a definition's pins from the installed agents. */
export function resolvePins(
  definition: WorkflowDefinition,
  catalog: Agents,
  tenant: string,
): WorkflowDefinition {
  const nodes = definition.nodes.map((node) => {
    const reference = node.agent && catalog.reference(node.agent.agentId, tenant);
    return reference === undefined ? node : { ...node, agent: { ...reference, ...node.agent } };
  });
  return { ...definition, nodes };
}

/** The error of a node whose agent has changed since the run was created. */
export function pinMismatch({ message, details }: PinFault): RunError {
  return { code: "agent_pin_mismatch", message: `the pin of the node ${message}`, details };
}

/** The input with which the public suite asks for an invalid agent result. */
const RETURN_PROBE = "mock-return-violation";

/**
 * Checks a run's inputs against the task schema of the agent that its workflow requires. A misfit ends the run before
 * any node is executed. Undefined if the inputs are valid or no agent is required.   OpenWOP RFC 0003 §D
 */
export function checkHandoffGate(
  { workflow, inputs, owner: { tenant } }: Run,
  { catalog, isConformance }: Pick<RunParts, "catalog" | "isConformance">,
): RunError | undefined {
  const { requiresAgentId: agentId } = workflow.metadata;
  if (typeof agentId !== "string") return undefined;
  if (catalog.find(agentId, tenant) === undefined) {
    const message = "the agent that the workflow requires is not installed here";
    return { code: "agent_not_found", message, details: { agentId } };
  }
  if (isConformance && inputs["scenario"] === RETURN_PROBE) {
    return catalog.checkHandoff(agentId, tenant, "return", {});
  }
  return catalog.checkHandoff(agentId, tenant, "task", inputs);
}
