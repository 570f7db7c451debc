/**
 * The agents' endpoints. Each is one of its own, bound like a function that the operator registers:
 * `EXECUTE /agents/{agent_id}`, with the agent's own schemas and a semantic block out of its
 * manifest. The inventory is `QUERY /agents`, whose entries are what QUERY answers on the agent's
 * own path. Callers that may not learn of agents find none. 404 `agent_not_found` · 422 for a task
 * that the agent does not take. OpenWOP RFC 0072, AGTP-API §6.1, §7
 */
import type { Concealment } from "../../dispatch/concealment.ts";
import { agentNotInstalled } from "../../dispatch/refusals/openwop-refusals.ts";
import { namedError, type Refusal, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import type { ProtocolEndpoint } from "../../dispatch/routes/protocol-endpoint.ts";
import { createRoute, type Route, type RouteHandler } from "../../dispatch/routes/route.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { type HandlerResult, isHandlerError } from "../../handlers/handler.ts";
import { type AgentCatalog, inventoryBody } from "./agent-catalog.ts";
import {
  DISPATCH_ERRORS,
  type DispatchOptions,
  dispatchAgent,
  START_SCOPES,
} from "./dispatch-call.ts";
import type { InstalledAgent } from "./installed-agent.ts";
import { DISPATCH_MEMBERS, endpointSchemas } from "./packs/handoff-schema.ts";
import type { Redactor } from "./redaction.ts";

interface InventoryEndpointsOptions extends DispatchOptions {
  readonly catalog: AgentCatalog;
  /** An agent of the tenant, by its id, or by its AGTP name or Agent-ID. */
  resolve(name: string): InstalledAgent | undefined;
  /** True if DISCOVER lists the endpoints: there is somebody to be found by them. */
  readonly isListed: boolean;
  readonly redactor: Concealment;
  /** Tells whether a caller may learn which agents there are. */
  isDisclosedTo(agentId: string | undefined): boolean;
}

const AGENT_ID = { type: "string", minLength: 1, maxLength: 256 } as const;

/** Makes the two endpoints of the inventory. */
export function inventoryEndpoints(
  options: InventoryEndpointsOptions,
): readonly ProtocolEndpoint[] {
  return [listEndpoint(options), executeEndpoint(options)];
}

function listEndpoint({
  catalog,
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
      body: inventoryBody(isDisclosedTo(agentId) ? catalog.inventory(tenant) : []),
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

/** The parts that the agents' endpoints are bound to. */
export interface AgentRoutesOptions extends DispatchOptions {
  readonly redactor: Redactor;
}

const UNSTATED_CONFIDENCE = 0.7;

/** A route an agent, of the operator's tier. */
export function agentRoutes(
  agents: readonly InstalledAgent[],
  options: AgentRoutesOptions,
): readonly Route[] {
  return agents.map((agent) => {
    const { input, output } = endpointSchemas(agent);
    const definition: EndpointDefinition = {
      ...describeEndpoint(agent, options.redactor),
      ...{ inputSchema: input.schema, outputSchema: output.schema },
    };
    const handler: RouteHandler = (call) => dispatchAgent(options, agent.agentId, call);
    return createRoute(definition, handler, {
      ...{ tier: "B", input, output },
      startsWork: true,
      idempotencyMember: "idempotency_key",
      concealment: options.redactor,
      // It waits no longer than that.
      endsInTime: true,
    });
  });
}

function describeEndpoint(
  agent: InstalledAgent,
  redactor: Redactor,
): Omit<EndpointDefinition, "inputSchema" | "outputSchema"> {
  const persona = redactor.text(agent.persona);
  const intent = redactor.text(agent.description || `Has ${agent.persona} take a task.`);
  return {
    file: agent.pack.file,
    method: "EXECUTE",
    path: `/agents/${agent.agentId}`,
    description: intent,
    namespace: "openwop",
    semantic: {
      intent,
      actor: "agent",
      outcome: `A run is started in which ${persona} takes the task and comes to a result.`,
      capability: "domain_spanning",
      confidence: agent.confidenceThreshold ?? UNSTATED_CONFIDENCE,
      impact: "reversible",
      is_idempotent: false,
    },
    errors: DISPATCH_ERRORS,
    requiredScopes: START_SCOPES,
    handler: { type: "registered_function", function: "openwop.agents.dispatch" },
  };
}
