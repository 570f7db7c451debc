/**
 * The inventory over AGTP, `QUERY /agents`, and the way to any agent of it by its name or its
 * Agent-ID, `EXECUTE /agents/{agent_id}`. One entry is what QUERY answers on the agent's own path.
 * Callers that may not learn of agents find none. 404 `agent_not_found` · 422 for a task that the
 * agent does not take.   OpenWOP RFC 0072 §A
 */
import type { Concealment } from "../../dispatch/concealment.ts";
import type { ProtocolEndpoint } from "../../dispatch/protocol-endpoint.ts";
import { agentNotInstalled } from "../../dispatch/refusals/openwop-refusals.ts";
import { namedError, type Refusal, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import { type HandlerResult, isHandlerError } from "../../handlers/handler.ts";
import {
  DISPATCH_ERRORS,
  type DispatchOptions,
  dispatchAgent,
  START_SCOPES,
} from "./dispatch-call.ts";
import { DISPATCH_MEMBERS } from "./endpoint-schemas.ts";
import type { InstalledAgent } from "./installed-agent.ts";
import type { AgentInventory } from "./inventory.ts";

/** The parts that the endpoints look into. */
export interface InventoryEndpointsOptions extends DispatchOptions {
  readonly inventory: AgentInventory;
  /** An agent of the tenant, by its id, or by its AGTP name or Agent-ID. */
  resolve(name: string): InstalledAgent | undefined;
  /** True if DISCOVER lists the endpoints: there is somebody to be found by them. */
  readonly isListed: boolean;
  readonly redactor: Concealment;
  /** Tells whether a caller may learn which agents there are. */
  isDisclosedTo(agentId: string | undefined): boolean;
}

const AGENT_ID = { type: "string", minLength: 1, maxLength: 256 } as const;

/** Both. */
export function inventoryEndpoints(
  options: InventoryEndpointsOptions,
): readonly ProtocolEndpoint[] {
  return [listEndpoint(options), executeEndpoint(options)];
}

function listEndpoint({
  inventory,
  tenant,
  isListed,
  isDisclosedTo,
}: InventoryEndpointsOptions): ProtocolEndpoint {
  return {
    method: "QUERY",
    path: "/agents",
    description: "Returns the inventory of the agents that this server runs.",
    ...{ capability: "retrieval", impact: "informational", isReading: true },
    ...{ isListed, isFindable: isListed },
    inputSchema: { type: "object", properties: {}, additionalProperties: false },
    outputSchema: { type: "object", required: ["agents", "total"] },
    handler: ({ agentId }) => ({
      body: isDisclosedTo(agentId) ? inventory.list(tenant) : { agents: [], total: 0 },
    }),
  };
}

/** An agent that has an endpoint of its own is reached by that one first. */
function executeEndpoint(options: InventoryEndpointsOptions): ProtocolEndpoint {
  return {
    method: "EXECUTE",
    path: "/agents/{agent_id}",
    description: "Starts a run in which an agent of the inventory takes a task.",
    capability: "domain_spanning",
    impact: "reversible",
    isReading: false,
    isListed: options.isListed,
    isFindable: options.isListed,
    idempotencyMember: "idempotency_key",
    endsInTime: true,
    ...{ errors: DISPATCH_ERRORS, requiredScopes: START_SCOPES, concealment: options.redactor },
    inputSchema: {
      type: "object",
      required: ["agent_id", "task"],
      properties: { agent_id: AGENT_ID, task: {}, ...DISPATCH_MEMBERS },
      additionalProperties: false,
    },
    outputSchema: { type: "object", required: ["runId", "status"] },
    handler: async (call) => {
      const agent = options.resolve(String(call.input["agent_id"]));
      if (agent === undefined) return agentNotInstalled();
      const violations = agent.taskSchema?.check(call.input["task"]);
      if (violations !== undefined) {
        return schemaViolation(violations.map((one) => ({ ...one, path: `/task${one.path}` })));
      }
      return refuseErrors(await dispatchAgent(options, agent.agentId, call));
    },
  };
}

/** The protocol's own endpoints declare no errors; they refuse. */
function refuseErrors(result: HandlerResult): HandlerResult | Refusal {
  if (!isHandlerError(result)) return result;
  return namedError(result.error, result.message, result.details);
}
