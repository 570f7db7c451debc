/**
 * The agents' endpoints. Each agent has an endpoint bound like a function of the operator:
 * `EXECUTE /agents/{agent_id}`, with the agent's own schemas and a semantic block from its manifest. The inventory is
 * `QUERY /agents`, empty for callers that may not learn of agents; QUERY on an agent's path returns its entry.
 * 404 `agent_not_found` · 422 for a task that the agent does not take.   OpenWOP RFC 0072, AGTP-API §6.1, §7
 */

import { given, type JsonRecord, recordIn, textsIn } from "../../base/json-value.ts";
import type { Redactor } from "../../base/redaction.ts";
import type { TaskQueue } from "../../base/task-queue.ts";
import { shownCertificates } from "../../dispatch/caller/shown-certificates.ts";
import type { Concealment } from "../../dispatch/concealment.ts";
import { withLongAnswers } from "../../dispatch/handling/long-answers.ts";
import { namedError, type Refusal, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import { agentNotInstalled } from "../../dispatch/refusals/task-refusals.ts";
import type { ProtocolEndpoint } from "../../dispatch/routes/protocol-endpoint.ts";
import {
  createRoute,
  type ExchangeView,
  type Route,
  type RouteHandler,
} from "../../dispatch/routes/route.ts";
import type { CausingRequest } from "../../dispatch/stream-events.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import {
  type Call,
  type HandlerError,
  type HandlerResult,
  isHandlerError,
} from "../../handlers/handler.ts";
import { type AgentCatalog, inventoryBody } from "./agent-catalog.ts";
import type { RunError, RunOwner } from "./agent-executor.ts";
import type { ApiScope } from "./http/api-keys.ts";
import type { InstalledAgent } from "./installed-agent.ts";
import { DISPATCH_MEMBERS, endpointSchemas } from "./packs/handoff-schema.ts";
import { isRefused } from "./runs/run.ts";
import type { RunHost } from "./runs/run-host.ts";
import { acceptedRun, runResult, runSnapshot } from "./runs/run-state.ts";

interface InventoryEndpointsOptions extends DispatchOptions {
  readonly catalog: AgentCatalog;
  /** Finds a tenant's agent by its id, AGTP name or Agent-ID. */
  resolve(name: string): InstalledAgent | undefined;
  /** True if DISCOVER lists the endpoints, because an agent is installed. */
  readonly isListed: boolean;
  readonly redactor: Concealment;
  /** Tells whether a caller may learn which agents exist. */
  isDisclosedTo(agentId: string | undefined): boolean;
}

const AGENT_ID = { type: "string", minLength: 1, maxLength: 256 } as const;

/** Returns the two endpoints of the inventory. */
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
    ...{ capability: "retrieval", impact: "informational" },
    ...{ isListed, isFindable: isListed },
    inputSchema: { type: "object", properties: {}, additionalProperties: false },
    outputSchema: { type: "object", required: ["agents", "total"] },
    handler: ({ agentId }) => ({
      body: inventoryBody(isDisclosedTo(agentId) ? catalog.inventory(tenant) : []),
    }),
  };
}

/** Serves agents without an endpoint of their own; routing prefers an agent's own endpoint. */
function executeEndpoint(options: InventoryEndpointsOptions): ProtocolEndpoint {
  return {
    method: "EXECUTE",
    path: "/agents/{agent_id}",
    description: "Starts a run in which an agent of the inventory takes a task.",
    capability: "domain_spanning",
    impact: "reversible",
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
    handler: async (call, exchange) => {
      const agent = options.resolve(String(call.input["agent_id"]));
      if (agent === undefined) return agentNotInstalled();
      const violations = agent.taskSchema?.check(call.input["task"]);
      if (violations !== undefined) {
        return schemaViolation(violations.map((one) => ({ ...one, path: `/task${one.path}` })));
      }
      return refuseErrors(await dispatchAgent(options, agent.agentId, { call, exchange }));
    },
  };
}

/** Turns errors into refusals: the protocol's own endpoints declare no errors. */
function refuseErrors(result: HandlerResult): HandlerResult | Refusal {
  if (!isHandlerError(result)) return result;
  return namedError(result.error, result.message, result.details);
}

/** The dependencies of the agents' endpoints. */
export interface AgentRoutesOptions extends DispatchOptions {
  readonly work: TaskQueue;
  readonly redactor: Redactor;
}

const UNSTATED_CONFIDENCE = 0.7;

/** Returns one tier B route per agent. */
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
    const handler: RouteHandler = (call, exchange) =>
      dispatchAgent(options, agent.agentId, { call, exchange });
    return createRoute(definition, withLongAnswers(handler, options.work), {
      ...{ tier: "B", input, output },
      startsWork: true,
      idempotencyMember: "idempotency_key",
      concealment: options.redactor,
      // The handler bounds its own wait by `maxWaitMs`.
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

/** The errors that an agent's endpoint declares. */
const DISPATCH_ERRORS = [
  "agent_unavailable",
  "agent_pin_mismatch",
  "agent_timeout",
  "agent_failed",
  "agent_not_found",
  "agent_malformed_answer",
  "handoff_task_schema_violation",
  "handoff_return_schema_violation",
  "model_unavailable",
  "model_rate_limited",
  "model_refused",
  "model_malformed_response",
  "model_not_available",
  "tool_limit_exceeded",
  "capability_not_provided",
  "validation_error",
  "rate_limited",
  "run_timeout",
  "run_cancelled",
  "run_failed",
] as const;

/** Dispatching an agent starts a run, so it needs the same scopes. */
const START_SCOPES: readonly ApiScope[] = ["runs:create"];

const DECLARED: ReadonlySet<string> = new Set(DISPATCH_ERRORS);

/** The dependencies of a dispatch. */
export interface DispatchOptions {
  readonly host: Pick<RunHost, "create" | "whileServing">;
  /** The tenant that owns the runs of AGTP callers. */
  readonly tenant: string;
  readonly serverId: string;
  /** The bound on `wait_seconds`: the handler must answer within it. */
  readonly maxWaitMs: number;
}

/**
 * Starts a one-node run of an agent. Answers 202 for a run that goes on, 200 with its result if it ends within the
 * caller's wait, or 422 named after the error.
 */
async function dispatchAgent(
  options: DispatchOptions,
  agentId: string,
  { call, exchange }: CausingRequest,
): Promise<HandlerResult> {
  const { host, maxWaitMs } = options;
  const { task, configurable, tags, metadata, wait_seconds: wait } = call.input;
  const inputs = task === undefined ? {} : { task };
  const described = { configurable: recordIn(configurable), metadata: recordIn(metadata) };
  const body = { agentId, inputs, ...described, tags: textsIn(tags) };
  const log = await host.create(body, agtpOwner(options, call, exchange));
  if (isRefused(log)) return declared(log, "run_failed", {});
  const waitMs = typeof wait === "number" ? Math.min(wait * 1000, maxWaitMs) : 0;
  await log.atRest(host.whileServing(call.signal, waitMs));
  const { run, state } = log;
  const { status, error = { code: "run_cancelled", message: "the run was cancelled" } } = state;
  switch (status) {
    case "completed":
      return { body: { ...runSnapshot(run, state), result: runResult(state) } };
    case "failed":
    case "cancelled":
      return declared(error, `run_${status}`, { runId: run.runId, status });
    default:
      return { status: 202, body: acceptedRun(log) };
  }
}

/** The owner of a run that an AGTP caller starts. */
export function agtpOwner(
  { tenant, serverId }: Pick<DispatchOptions, "tenant" | "serverId">,
  { agentId, scopes }: Call,
  asker: Pick<ExchangeView, "caller" | "peer">,
): RunOwner {
  const { delegation } = asker.caller;
  const shown = shownCertificates(asker);
  const principal = `agtp:${agentId ?? "nobody"}`;
  const own = delegation?.links.filter((link) => link.serverId === serverId) ?? [];
  const lent = delegation && { by: own.map((link) => link.agentId), until: delegation.deadline };
  return {
    tenant,
    principal,
    scopes,
    ...given({ agentId, lent }),
    ...(shown.length > 0 && { shown }),
  };
}

/** Wraps an error that the endpoint does not declare in `otherwise`, with its code in the details. */
function declared(
  { code, message, details = {} }: RunError,
  otherwise: string,
  run: JsonRecord,
): HandlerError {
  const isDeclared = DECLARED.has(code);
  const told = { ...details, ...run, ...(isDeclared ? {} : { code }) };
  return { error: isDeclared ? code : otherwise, message, details: told };
}
