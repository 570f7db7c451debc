/**
 * Each agent as an endpoint, bound like a function that the operator registers: `EXECUTE
 * /agents/{agent_id}`, with the agent's own schemas and a semantic block out of its manifest.
 * OpenWOP RFC 0072 §B, AGTP-API §6.1, §7
 */

import { createRoute, type Route, type RouteHandler } from "../../dispatch/route.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import {
  DISPATCH_ERRORS,
  type DispatchOptions,
  dispatchAgent,
  START_SCOPES,
} from "./dispatch-call.ts";
import { endpointSchemas } from "./endpoint-schemas.ts";
import type { InstalledAgent } from "./installed-agent.ts";
import type { Redactor } from "./redaction.ts";

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
