/** MCP on the HTTP listener: its tools, its callers and its path.   `[mcp]` */
import { isRecord, recordIn } from "../../base/json-value.ts";
import type { Paced } from "../../base/paced.ts";
import {
  type CallerResolver,
  createCallerResolver,
} from "../../dispatch/caller/caller-resolver.ts";
import type { CallerState } from "../../dispatch/caller/caller-state.ts";
import { refuseInactive } from "../../dispatch/gates/03-lifecycle.ts";
import type { HttpSide } from "../../dispatch/module/http-gateway.ts";
import type { HttpApi, HttpRoute } from "../../dispatch/module/http-route.ts";
import type { Module } from "../../dispatch/module/module.ts";
import type { OpenKept } from "../../dispatch/process-state.ts";
import { refuseUncovered } from "../../dispatch/refusals/refusal.ts";
import type { CallRules } from "../../dispatch/routes/may-call.ts";
import { openSecret } from "../../state/kept-secret.ts";
import { isOpen } from "../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";
import type { McpContext, McpSections } from "./config.ts";
import {
  creatingFrontContracts,
  type FrontContracts,
  RequestStates,
} from "./contracts/front-contracts.ts";
import { APPROVED_CALL, APPROVED_CALL_TOOL, PROPOSE, PROPOSE_TOOL } from "./contracts/own-tools.ts";
import type { McpFront, Projection, Protection } from "./front.ts";
import { createMetadataApi, METADATA_PREFIX, payerOfMessage } from "./identify.ts";
import { OpenStreams } from "./listening/open-streams.ts";
import { createMcpApi, type McpApiParts } from "./mcp-api.ts";
import { McpState } from "./mcp-state.ts";
import { reportingTo } from "./report-fault.ts";
import { type AskedCall, openMcpTasks } from "./tasks/task.ts";
import { createToolListing, type VisibleTools, visibleTools } from "./tools/tool-listing.ts";
import { type ListedTool, Toolbox } from "./tools/toolbox.ts";

/** Comes after the gateway, whose listener serves it and whose agent its clients use. */
export const mcpModule: Module<McpSections> = {
  name: "mcp",
  takes: { mcp: true, policies: true, server: true },
  async provision(context) {
    const { mcp, server } = context.config;
    const { http } = context;
    const streams = await context.once(openStreams);
    if (!mcp.enabled || http === undefined) return { start: () => streams.serve(undefined) };
    // The library is loaded only if MCP is served.
    const kept = await context.once(openState);
    const endpoint = await kept.open(server.serverId, streams, context);
    let front: McpFront | undefined;
    const frontOf = (): McpFront => {
      if (front === undefined) throw new Error("the deployment is not put together yet");
      return front;
    };
    let isServed = false;
    const { toll } = context;
    const payerOf: McpApiParts["payerOf"] = (request) => payerOfMessage(context.tokens, request);
    const plugin = createMcpApi({ endpoint, toll, frontOf, payerOf });
    return {
      httpRoutes: [{ prefix: mcp.path, api: API, plugin, payerOf }, ...metadata(context, frontOf)],
      complete: async () => {
        front = await context.drive(creatingFront(context, http, kept));
        return [];
      },
      start: () => {
        isServed = true;
        kept.serve(frontOf(), context);
        streams.serve(frontOf());
      },
      // Streams and sessions belong to the process, and end with the deployment that is served last.
      close: async () => {
        if (isServed) await kept.close();
      },
    };
  },
};

const API: HttpApi = { name: "mcp", description: "MCP: the endpoints of this server as tools." };

const SECRET = { collection: "mcp-secrets", key: "request-state" };

const openStreams: OpenKept<OpenStreams> = () => new OpenStreams();

const openState: OpenKept<McpState> = async (store, clock) => {
  const states = new RequestStates(await openSecret(store, SECRET), () => clock.now());
  return new McpState(await openMcpTasks(store, clock), states);
};

/** Serves resource metadata if `[policies.oauth]` is set. */
function metadata(context: McpContext, frontOf: () => McpFront): readonly HttpRoute[] {
  const { mcp, server, policies } = context.config;
  if (policies.oauth === undefined) return [];
  const plugin = createMetadataApi(() => frontOf().protection, server.serverId);
  return [{ prefix: `${METADATA_PREFIX}${mcp.path}`, api: API, plugin }];
}

/** Creates the front, once the deployment is assembled. */
function* creatingFront(
  context: McpContext,
  http: HttpSide,
  kept: Pick<McpState, "tasks" | "states" | "served">,
): Paced<McpFront> {
  const { tasks, states } = kept;
  const { config, state, tokens } = context;
  const { dispatcher, directory } = context.deployment();
  const resolve = createCallerResolver(directory, config.policies.identity);
  const { serverId } = config.server;
  const rules = rulesOf(config);
  const toolbox = yield* creatingToolbox(context, rules);
  const parts = { context, toolbox, rules, states, ownNames: OWN_NAMES };
  const contracts = yield* creatingFrontContracts(parts);
  const visible = visibleTools({ toolbox, contracts, lifecycle: state.lifecycle });
  const front: McpFront = {
    ...{ serverId, toolbox, contracts, dispatcher, tokens, tasks, ...http.agent },
    ...waitingCalls(state.escalations),
    ...{ view: state.view, holders: state.holders },
    isAnonymousServed: config.mcp.anonymous,
    protection: protectionOf(context, http, toolbox),
    listing: createToolListing(visible),
    projection: createProjection(resolve, visible, contracts),
    refuseKept: keptGate(resolve, state.lifecycle),
    stopping: context.stopping.signal,
    latest: () => kept.served ?? front,
    reportFault: reportingTo(context.log),
    ledger: state.ledger,
  };
  return front;
}

const OWN_NAMES: ReadonlySet<string> = new Set([APPROVED_CALL, PROPOSE]);

function rulesOf({ policies }: McpSections): CallRules {
  return {
    scopeRequiredForInvocation: policies.scopeRequiredForInvocation,
    tokenMethods: new Set(policies.oauth?.requiredOnMethods),
  };
}

function creatingToolbox(
  { config, methodPolicy, deployment }: McpContext,
  rules: CallRules,
): Paced<Toolbox> {
  const { mcp, policies } = config;
  const routes = deployment().registry.entries;
  const isApproving =
    policies.approvals.length > 0 ||
    routes.some(
      ({ definition }) =>
        definition.approval !== undefined || definition.handler.type === "mcp_tool",
    );
  const further = [
    ...(isApproving ? [APPROVED_CALL_TOOL] : []),
    ...(deployment().negotiation.offers === undefined ? [] : [PROPOSE_TOOL]),
  ];
  return Toolbox.creating({
    routes,
    // A tool name that the operator assigned takes precedence.
    further: further.filter(({ name }) => !routes.some((one) => one.definition.tool === name)),
    tools: mcp.tools,
    rules,
    isListed: ({ isListed }) => isListed,
    isAllowed: (method) => methodPolicy.isAllowed(method),
  });
}

function protectionOf(
  { config: { mcp, policies } }: McpContext,
  http: HttpSide,
  { scopes }: Toolbox,
): Protection | undefined {
  const { oauth } = policies;
  if (oauth === undefined) return undefined;
  const at = (path: string): string | undefined => {
    const baseUrl = http.baseUrl();
    return baseUrl && `${baseUrl}${path}`;
  };
  return {
    ...{ scopes, issuer: oauth.issuer, audience: oauth.audience },
    resource: () => at(mcp.path),
    metadataUrl: () => at(`${METADATA_PREFIX}${mcp.path}`),
  };
}

const NOTHING: readonly ListedTool[] = [];

/** Finds the tools that a client would be shown now, without a request. */
function createProjection(
  resolve: CallerResolver,
  visible: VisibleTools,
  { tools }: Pick<FrontContracts, "tools">,
): Projection {
  return {
    toolsOf: ({ fields, peer, key }) => {
      const resolution = resolve(fields.get("agent-id") ?? "", undefined, peer);
      if ("kind" in resolution || resolution.refusal !== undefined) return NOTHING;
      // The principal's identity does not affect the list, only its presence.
      const principalId = fields.has("authorization") ? key : undefined;
      return visible({ caller: { ...resolution.caller, principalId }, peer });
    },
    validUntil: (agentId) => tools.validUntil(agentId),
  };
}

/** Applies the gates' checks to a stored result: the caller must be active and hold the scopes. */
function keptGate(
  resolve: CallerResolver,
  lifecycle: CallerState["lifecycle"],
): McpFront["refuseKept"] {
  return ({ fields, peer }, scopes) => {
    const resolution = resolve(fields.get("agent-id") ?? "", undefined, peer);
    if ("kind" in resolution) return resolution;
    const { caller, refusal } = resolution;
    const refused = refusal ?? refuseInactive(caller.document, lifecycle);
    if (refused !== undefined) return refused;
    return refuseUncovered(scopes, caller.authority);
  };
}

/** Looks up waiting calls among a server's escalations. */
function waitingCalls(
  escalations: Pick<EscalationRegister, "find">,
): Pick<McpFront, "approvedCallOf" | "isUndecided"> {
  return {
    approvedCallOf: (escalationId, agentId) => {
      const escalation = escalations.find(escalationId);
      if (escalation?.approval === undefined || escalation.agentId !== agentId) return undefined;
      return readCall(escalation.context);
    },
    isUndecided: (escalationId) => {
      const escalation = escalations.find(escalationId);
      return escalation !== undefined && isOpen(escalation);
    },
  };
}

function readCall(context: unknown): AskedCall | undefined {
  const call = recordIn(context)["call"];
  if (!isRecord(call)) return undefined;
  const { method, path, input } = call;
  if (typeof method !== "string" || typeof path !== "string" || !isRecord(input)) return undefined;
  return { method, path, input };
}
