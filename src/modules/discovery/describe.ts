/**
 * DESCRIBE: the capabilities or the identity of an agent. It is served on "/" and on the agent's own path, where FETCH
 * and QUERY also read the identity document, and the status document below it; QUERY also shows an agent of another
 * system, in that system's form. 404 for an unknown or hidden agent · 422 for invalid parameters · 503 and 410 for the
 * identity of a suspended or retired agent, which only DESCRIBE still gives.
 * AGTP "DESCRIBE", "URI Resolution"
 */

import type { JsonRecord } from "../../base/json-value.ts";
import { isDisclosedTo } from "../../dispatch/caller/disclosure.ts";
import { refuseInactive } from "../../dispatch/gates/03-lifecycle.ts";
import { agentNotFound, notFound, type Refusal } from "../../dispatch/refusals/refusal.ts";
import {
  type DescribeMethod,
  describeBy,
  type FloorMethod,
  floorResult,
  impactOf,
} from "../../dispatch/routes/floor.ts";
import type { ProtocolEndpoint } from "../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView, RouteHandler } from "../../dispatch/routes/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument, AgentStanding } from "../../identity/agent-document.ts";
import type { DiscoveryContext } from "./config.ts";
import {
  agentSubject,
  type CapabilitySubject,
  capabilityDocument,
} from "./describe-capabilities.ts";
import {
  chooseForm,
  createIdentityReplies,
  type DescriptionForm,
  FORMAT_NAMES,
  type IdentityReply,
} from "./describe-identity.ts";

interface DescribeOptions extends DescribedAgents {
  readonly context: DiscoveryContext;
  readonly standing: AgentStanding;
  /** The methods that this server answers. */
  readonly methods: readonly string[];
}

/** DESCRIBE on "/", and the endpoints on the paths of agents. */
interface Description {
  readonly method: FloorMethod;
  readonly endpoints: readonly ProtocolEndpoint[];
}

const FORMAT = { format: { enum: FORMAT_NAMES } };
const CONTEXT = { context: { type: "object" } };
const CAPABILITY_PARAMETERS = {
  capability_domains: { type: ["string", "array"], items: { type: "string" }, maxItems: 64 },
  version_min: { type: "string" },
};
const AGENT = { type: "string", minLength: 1, maxLength: 256 };

/** Creates the endpoints that describe this server's agents. */
export function createDescription(
  context: DiscoveryContext,
  methods: readonly string[],
): Description {
  const { inventory, directory, config, state } = context;
  const defaultName = config.agents.default;
  const options: DescribeOptions = {
    ...{ context, methods, directory, isDisclosedTo: (agentId) => isDisclosedTo(context, agentId) },
    defaultAgent: defaultName === undefined ? undefined : directory.resolve(defaultName),
    standing: {
      statusOf: (agent) => state.lifecycle.statusOf(agent),
      statusSince: (agent) => state.lifecycle.statusSince(agent),
      migrationOf: (agent) => state.lifecycle.migrationOf(agent),
      lastAction: (agentId) => state.ledger.currentHeadOf(agentId),
    },
  };
  const describe = describeBy(context.catalog);
  const answer = createAnswers(options);
  const onPath = (method: string): ProtocolEndpoint => {
    const usual = method === "DESCRIBE" ? "capabilities" : "json";
    // Only QUERY finds agents of other systems.
    const isListed = method === "QUERY" && inventory?.isEmpty === false;
    return {
      ...{ ...reading(method, describe), isListed },
      path: "/agents/{agent_id}",
      inputSchema: schemaOf({
        agent_id: AGENT,
        ...FORMAT,
        ...CONTEXT,
        ...(method === "DESCRIBE" ? CAPABILITY_PARAMETERS : {}),
      }),
      handler: (call, exchange) => {
        const { agent_id: name } = call.input;
        const entry = method === "QUERY" ? inventory?.find(String(name), call.agentId) : undefined;
        if (entry === undefined) return answer(name, usual, call, exchange);
        return isRefusal(entry) ? entry : { body: entry };
      },
    };
  };
  const statusOnPath = (method: string): ProtocolEndpoint => ({
    ...reading(method, describe),
    path: "/agents/{agent_id}/status",
    inputSchema: schemaOf({ agent_id: AGENT, ...CONTEXT }),
    handler: (call, exchange) => answerStatus(options, call.input["agent_id"], call, exchange),
  });
  return {
    method: {
      inputSchema: schemaOf({ agent_id: AGENT, ...FORMAT, ...CONTEXT, ...CAPABILITY_PARAMETERS }),
      handler: (call, exchange) => answer(call.input["agent_id"], "capabilities", call, exchange),
    },
    endpoints: READING_METHODS.flatMap((method) => [onPath(method), statusOnPath(method)]),
  };
}

/** DESCRIBE is a floor method; the others are the catalog's reading methods. */
const READING_METHODS = ["DESCRIBE", "FETCH", "QUERY"] as const;

function reading(method: string, describe: DescribeMethod) {
  const impact = impactOf("DESCRIBE");
  return { method, ...describe(method), impact, isListed: false, isFindable: false };
}

function schemaOf(properties: Readonly<Record<string, unknown>>) {
  return { type: "object", properties };
}

type Answer = HandlerSuccess | Refusal;
type AnswerDescription = (
  named: unknown,
  usual: DescriptionForm,
  ...request: Parameters<RouteHandler>
) => Answer | IdentityReply | Promise<Answer>;

function createAnswers(options: DescribeOptions): AnswerDescription {
  const { standing, methods, context } = options;
  const replyWithIdentity = createIdentityReplies();
  return (named, usual, call, exchange) => {
    const agent = resolveTarget(options, named, call, exchange);
    if (agent !== undefined && "kind" in agent) return agent;
    const form = chooseForm(call.input["format"], call.headers["accept"], usual);
    if (agent === undefined) {
      return form === "capabilities"
        ? answerCapabilities(ofServer(options), call)
        : agentNotFound();
    }
    const status = standing.statusOf(agent);
    switch (form) {
      case "capabilities": {
        const tools = context.inventory?.toolsOf(agent) ?? [];
        const stands = { status, migration: standing.migrationOf(agent) };
        return answerCapabilities(agentSubject(agent, stands, { methods, tools }), call);
      }
      case "status":
        return answerWithStatus(agent, standing);
      case "certificate":
        return refuseLapsed(options, agent, call) ?? answerGenesis(agent);
      case "json":
      case "yaml":
      case "html":
        return refuseLapsed(options, agent, call) ?? replyWithIdentity(agent, form, status);
    }
  };
}

function answerCapabilities(subject: CapabilitySubject, call: Call): Answer {
  const document = capabilityDocument(subject, call.input);
  return isRefusal(document) ? document : floorResult(call, document);
}

function isRefusal(value: Refusal | object): value is Refusal {
  return "kind" in value && value.kind === "refusal";
}

function ofServer({ context, methods }: DescribeOptions): CapabilitySubject {
  const { serverId, operator = serverId } = context.config.server;
  const identity = { server_id: serverId, name: operator };
  return { identity, status: "active", document: {}, governanceZone: undefined, methods };
}

/** The Genesis is the agent's certificate; the answer has its signed octets. */
function answerGenesis({ genesis }: AgentDocument): Answer {
  if (genesis !== undefined) return { body: genesis.canonical };
  return notFound("genesis-not-found", "no Agent Genesis is loaded for this agent");
}

function answerStatus(
  options: DescribeOptions,
  named: unknown,
  call: Call,
  exchange: ExchangeView,
): Answer | Promise<Answer> {
  const agent = resolveTarget(options, named, call, exchange);
  if (agent === undefined) return agentNotFound();
  return "kind" in agent ? agent : answerWithStatus(agent, options.standing);
}

async function answerWithStatus(agent: AgentDocument, standing: AgentStanding): Promise<Answer> {
  return { body: await statusDocument(agent, standing, Date.now) };
}

/** Refuses a suspended or retired agent, so that nobody resolves it as active. */
function refuseLapsed(
  { standing }: DescribeOptions,
  agent: AgentDocument,
  { method }: Call,
): Refusal | undefined {
  return method === "DESCRIBE" ? undefined : refuseInactive(agent, standing);
}

interface DescribedAgents {
  readonly directory: AgentDirectory;
  /** The agent for requests that name none. */
  readonly defaultAgent: AgentDocument | undefined;
  /** True if a caller may list agents. */
  isDisclosedTo(agentId: string | undefined): boolean;
}

/**
 * The named agent, or else the caller, or else the configured default; undefined for the server itself. The exchange
 * then has it as its addressed agent.   AGTP "URI Resolution", AGTP-API §8.5
 */
function resolveTarget(
  agents: DescribedAgents,
  named: unknown,
  call: Call,
  exchange: ExchangeView,
): AgentDocument | Refusal | undefined {
  const agent = findAgent(agents, named, call.agentId);
  if (agent !== undefined) exchange.addressed = agent;
  return agent === undefined && named !== undefined ? agentNotFound() : agent;
}

function findAgent(
  { directory, defaultAgent, isDisclosedTo }: DescribedAgents,
  named: unknown,
  callerId: string | undefined,
): AgentDocument | undefined {
  const caller = callerId === undefined ? undefined : directory.find(callerId);
  const addressed =
    named === undefined ? (caller ?? defaultAgent) : directory.resolve(String(named));
  // An agent always sees itself.
  return addressed === caller || isDisclosedTo(callerId) ? addressed : undefined;
}

/**
 * The status document of an agent, built once its last action is known; `now` is in milliseconds since the epoch.
 * Facts unknown to this server are left out.   AGTP "Status Sub-Resource"
 */
export async function statusDocument(
  agent: AgentDocument,
  standing: AgentStanding,
  now: () => number,
): Promise<JsonRecord> {
  const { document } = agent;
  const action = await standing.lastAction(agent.agentId);
  const since = standing.statusSince(agent);
  return {
    document_type: "agtp-status",
    canonical_id: agent.agentId,
    agent_label: agent.name,
    ...textMember(document, "org_domain"),
    lifecycle_state: standing.statusOf(agent),
    ...(since === undefined ? {} : { lifecycle_state_since: since }),
    ...standing.migrationOf(agent),
    ...textMember(document, "cert_status"),
    ...(action === undefined
      ? {}
      : {
          last_action_method: action.method,
          last_action_timestamp: new Date(action.at).toISOString(),
        }),
    generated_at: new Date(now()).toISOString(),
  };
}

function textMember(document: JsonRecord, name: string): JsonRecord {
  const value = document[name];
  return typeof value === "string" ? { [name]: value } : {};
}
