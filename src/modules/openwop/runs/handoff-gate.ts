/**
 * A workflow may name an agent that its inputs are a task of; what does not fit the agent's schema
 * ends the run before any node has seen it.   OpenWOP RFC 0003 §D
 */
import type { AgentCatalog } from "../agent-catalog.ts";
import type { RunError } from "../agent-executor.ts";
import type { Run } from "./run.ts";

/** The parts that the gate looks at. */
export interface HandoffGate {
  readonly catalog: AgentCatalog;
  readonly isConformance: boolean;
}

/** The input by which the public suite asks for a result that breaks the agent's return schema. */
const RETURN_PROBE = "mock-return-violation";

/** Undefined: there is no such agent named, or the inputs are a task of it. */
export function checkHandoffGate(run: Run, gate: HandoffGate): RunError | undefined {
  const { requiresAgentId: agentId } = run.workflow.metadata;
  if (typeof agentId !== "string") return undefined;
  const { catalog, isConformance } = gate;
  const { tenant } = run.owner;
  if (catalog.find(agentId, tenant) === undefined) {
    const message = "the agent that the workflow requires is not installed here";
    return { code: "agent_not_found", message, details: { agentId } };
  }
  if (isConformance && run.inputs["scenario"] === RETURN_PROBE) {
    return catalog.checkHandoff(agentId, tenant, "return", {});
  }
  return catalog.checkHandoff(agentId, tenant, "task", run.inputs);
}
