/**
 * The agents that a workflow pins, held against those that are installed: what a run says of who did
 * its work is true, or there is no run. A pin of an agent that is not installed says what its author
 * wrote.   OpenWOP RFC 0002 §A, RFC 0082 §A
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { AgentCatalog } from "../agent-catalog.ts";
import type { RunError } from "../agent-executor.ts";
import { NO_CHANNELS } from "../workflows/check-workflow.ts";
import type { PinnedAgent, WorkflowDefinition } from "../workflows/workflow.ts";
import type { Run } from "./run.ts";
import type { RunParts } from "./workflow-runs.ts";

interface PinFault {
  /** The member of the pin. */
  readonly member: keyof PinnedAgent;
  readonly message: string;
  readonly details: JsonRecord;
}

type Agents = Pick<AgentCatalog, "reference">;

/** The members of a pin that an author may leave out, and must not get wrong. */
const PROVENANCE = ["version", "sourceManifestId", "name"] as const;

/** Undefined: the agent is the one that is pinned, or is not installed. */
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

/** The first pin of a definition that is wrong, by its node. */
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

/** A definition whose pins say all that is known of the agents that are installed. */
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

/** Why a node is not executed whose agent became another one since its run was created. */
export function pinMismatch({ message, details }: PinFault): RunError {
  return { code: "agent_pin_mismatch", message: `the pin of the node ${message}`, details };
}

/** The input by which the public suite asks for a result that breaks the agent's return schema. */
const RETURN_PROBE = "mock-return-violation";

/**
 * A workflow may name an agent that its inputs are a task of; what does not fit the agent's schema
 * ends the run before any node has seen it. Undefined: none is named, or the inputs are its task.
 * OpenWOP RFC 0003 §D
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
