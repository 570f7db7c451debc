/**
 * The endpoints of one agent as routes of the operator's tier: in the registry, in DISCOVER /methods and in the
 * manifest like any other. Capabilities that the agent lacks have none.   AGTP-API §6.1, §7
 */

import type { JsonRecord } from "../../../base/json-value.ts";
import type { TaskQueue } from "../../../base/task-queue.ts";
import type { Pair } from "../../../catalog/pair.ts";
import { withLongAnswers } from "../../../dispatch/handling/long-answers.ts";
import { createRoute, type Route, type RouteHandler } from "../../../dispatch/routes/route.ts";
import { withSecondLook } from "../../../dispatch/routes/second-look.ts";
import {
  type Capability,
  type EndpointDefinition,
  type Impact,
  UPSTREAM_ERRORS,
} from "../../../endpoint/endpoint.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { meteredSchema } from "../../../schema/metered-schema.ts";
import type { ViewLease } from "../../../state/state.ts";
import { viewOptions } from "../choose-option.ts";
import type { AgntcyConfig } from "../config.ts";
import type { ConnectedAgent } from "../connect-agents.ts";
import { type AcpSpecs, type AgentManifest, schemasOf } from "../manifest/manifest.ts";
import {
  CREATE_THREAD_SCHEMA,
  confirmSchema,
  EMPTY_SCHEMA,
  EVENTS_SCHEMA,
  executeSchema,
  RUN_SCHEMA,
  runOutputSchema,
  THREAD_SCHEMA,
} from "./endpoint-schemas.ts";
import { executeAgent } from "./execute-agent.ts";
import type { HostedRuns } from "./hosted-runs.ts";
import { cancelRun, confirmRun, queryEvents, queryRun } from "./run-methods.ts";
import { createThread, queryThread } from "./threads.ts";

interface RouteContext {
  readonly manifest: AgentManifest;
  readonly settings: AgntcyConfig;
  readonly view: Pick<ViewLease, "catchUp">;
  readonly work: Pick<TaskQueue, "pace">;
}

interface AgentEndpoint {
  readonly method: string;
  /** Relative to the agent's path. */
  readonly path: string;
  readonly intent: string;
  readonly outcome: string;
  readonly capability: Capability;
  readonly impact: Impact;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly isOpen?: boolean;
  /** The schema checked at the gate if only the handler can check everything; by default the input schema. */
  readonly judged?: JsonSchema;
  readonly handler: RouteHandler;
}

const RUN_ERRORS = ["agent_run_failed", "agent_unavailable", ...UPSTREAM_ERRORS] as const;
/** Below certainty: an agent may answer the same input differently. */
const CONFIDENCE = 0.7;
const ANYTHING: JsonSchema = { type: "object" };

/** The endpoint that describes the agent, even if it cannot be called. */
export function describeRoute(
  context: RouteContext,
  agent: ConnectedAgent,
  agentId: string,
  endpoints: readonly Pair[],
): Route {
  const { name } = context.manifest;
  return toRoute(context, {
    ...{ method: "DESCRIBE", path: "", isOpen: true },
    intent: `Learn what the agent ${name} takes, gives and needs, and whether it can be called.`,
    outcome: "The agent's schemas, deployment options and dependencies are returned.",
    capability: "discovery",
    impact: "informational",
    inputSchema: EMPTY_SCHEMA,
    outputSchema: { type: "object", required: ["name", "version", "callable"] },
    handler: () => ({ body: describeAgent(agent, agentId, endpoints) }),
  });
}

/** The endpoints of a callable agent. */
export function agentRoutes(context: RouteContext, hosted: HostedRuns): readonly Route[] {
  const { specs } = context.manifest;
  const endpoints = [
    ...runEndpoints(context, hosted),
    ...(specs.capabilities.interrupts ? [confirmEndpoint(context, hosted)] : []),
    ...(hosted.agent.canCancel ? [cancelEndpoint(context, hosted)] : []),
    ...(specs.capabilities.threads ? threadEndpoints(context, hosted) : []),
  ];
  return endpoints.map((endpoint) => toRoute(context, endpoint));
}

function runEndpoints(
  { manifest, settings }: RouteContext,
  hosted: HostedRuns,
): readonly AgentEndpoint[] {
  const { description, name, specs } = manifest;
  const outputSchema = runOutputSchema(specs);
  const reading = { capability: "retrieval", impact: "informational" } as const;
  return [
    {
      ...{ method: "EXECUTE", path: "", intent: description, outputSchema },
      outcome: `A run of ${name} has begun, and its output is returned once there is one.`,
      capability: "domain_spanning",
      impact: settings.impact,
      inputSchema: executeSchema(specs),
      handler: (call, exchange) => executeAgent(hosted, call, exchange),
    },
    {
      ...{ method: "QUERY", path: "/runs/{run_id}", ...reading, outputSchema },
      intent: `Learn how one of your runs of ${name} stands.`,
      outcome: "The run is returned with its output, its question or its error.",
      inputSchema: RUN_SCHEMA,
      handler: queryRun(hosted),
    },
    {
      ...{ method: "QUERY", path: "/runs/{run_id}/events", ...reading },
      intent: `Follow what happens in one of your runs of ${name}.`,
      outcome: "A page of the run's events is returned, the oldest first.",
      inputSchema: EVENTS_SCHEMA,
      outputSchema: { type: "object", required: ["run_id", "events", "continuation_token"] },
      handler: queryEvents(hosted),
    },
  ];
}

function confirmEndpoint({ manifest, settings }: RouteContext, hosted: HostedRuns): AgentEndpoint {
  return {
    ...{ method: "CONFIRM", path: "/runs/{run_id}" },
    intent: `Answer what a run of ${manifest.name} has stopped to ask.`,
    outcome: "The run goes on with the answer.",
    capability: "mechanics",
    impact: settings.impact,
    inputSchema: confirmSchema(manifest.specs, "declared"),
    outputSchema: runOutputSchema(manifest.specs),
    handler: (call, exchange) => confirmRun(hosted, call, exchange),
    judged: confirmSchema(manifest.specs, "any"),
  };
}

function cancelEndpoint({ manifest }: RouteContext, hosted: HostedRuns): AgentEndpoint {
  return {
    ...{ method: "CANCEL", path: "/runs/{run_id}" },
    intent: `Call off one of your runs of ${manifest.name}.`,
    outcome: "The run is over; what it has done stays done.",
    capability: "domain_spanning",
    impact: "irreversible",
    inputSchema: RUN_SCHEMA,
    outputSchema: runOutputSchema(manifest.specs),
    handler: (call, exchange) => cancelRun(hosted, call, exchange),
  };
}

function threadEndpoints({ manifest }: RouteContext, hosted: HostedRuns): readonly AgentEndpoint[] {
  const { name } = manifest;
  const outputSchema: JsonSchema = { type: "object", required: ["thread_id"] };
  return [
    {
      ...{ method: "CREATE", path: "/threads", outputSchema },
      intent: `Begin a thread with ${name}, whose runs know what was said before.`,
      outcome: "The thread's id is returned, to be sent with each run.",
      capability: "creation",
      impact: "reversible",
      inputSchema: CREATE_THREAD_SCHEMA,
      handler: (call) => createThread(hosted, call),
    },
    {
      ...{ method: "QUERY", path: "/threads/{thread_id}", outputSchema },
      intent: `Learn how one of your threads with ${name} stands.`,
      outcome: "The thread is returned with its state.",
      capability: "retrieval",
      impact: "informational",
      inputSchema: THREAD_SCHEMA,
      handler: queryThread(hosted),
    },
  ];
}

/** Methods that only read, regardless of the operator's impact. */
const LOOKING: ReadonlySet<string> = new Set(["QUERY", "DESCRIBE"]);

/** Paths of resources that another node may have just created. */
const LOOKED_UP: readonly string[] = ["/runs/", "/threads/"];

function toRoute({ manifest, settings, view, work }: RouteContext, endpoint: AgentEndpoint): Route {
  const { method, capability, impact, intent, outcome, inputSchema } = endpoint;
  const path = settings.base + endpoint.path;
  const isOpen = endpoint.isOpen === true;
  const definition: EndpointDefinition = {
    ...{ file: manifest.file, method, path, inputSchema, outputSchema: endpoint.outputSchema },
    description: intent,
    namespace: "agntcy",
    semantic: {
      ...{ intent, outcome, capability, impact },
      actor: "agent",
      confidence: impact === "informational" ? 1 : CONFIDENCE,
      is_idempotent: impact === "informational",
    },
    errors: isOpen ? [] : RUN_ERRORS,
    requiredScopes: isOpen ? [] : settings.requiredScopes,
    handler: { type: "registered_function", function: "agntcy.agent" },
  };
  const isAbout = LOOKED_UP.some((below) => endpoint.path.startsWith(below));
  const handler = withSecondLook(endpoint.handler, isAbout ? ["run_id", "thread_id"] : [], view);
  return createRoute(definition, withLongAnswers(handler, work), {
    tier: "B",
    startsWork: !LOOKING.has(method),
    input: meteredSchema(endpoint.judged ?? inputSchema),
    // The agent's output is already validated on receipt.
    output: meteredSchema(ANYTHING),
    // Every handler bounds its own time and reports the current state.
    endsInTime: true,
  });
}

/** The answer of DESCRIBE. It omits the server's address and this server's credentials. */
function describeAgent(
  { declared, remote, readiness, dependencies }: ConnectedAgent,
  agentId: string,
  endpoints: readonly Pair[],
): JsonRecord {
  const { manifest, settings, choice, access } = declared;
  const { name, version, description, specs } = manifest;
  const reason = choice.kind === "declared" ? choice.reason : readiness?.fault;
  return {
    name,
    version,
    description,
    protocol: "agntcy-acp",
    agent_id: agentId,
    base: settings.base,
    callable: reason === undefined,
    ...(reason === undefined ? {} : { reason }),
    status: readiness === undefined ? "declared" : readiness.isReady ? "verified" : "unverified",
    option: choice.option ?? null,
    options: viewOptions(manifest, access.endpoint),
    capabilities: { ...specs.capabilities, cancel: remote?.canCancel ?? false },
    schemas: describeSchemas(specs),
    dependencies: dependencies(),
    endpoints,
    required_scopes: settings.requiredScopes,
  };
}

function describeSchemas(specs: AcpSpecs): JsonRecord {
  const interrupts = specs.interrupts.map(({ type, payload, resume, asksAgent }) => ({
    interrupt_type: type,
    asks: asksAgent ? "agent" : "people",
    interrupt_payload: payload.schema,
    resume_payload: resume.schema,
  }));
  return { ...schemasOf(specs), interrupts };
}
