/** MCP on the HTTP listener: its tools, its callers and its path.   `[mcp]` */
import type { Config } from "../../base/config.ts";
import type { HttpSide } from "../../dispatch/http-gateway.ts";
import type { HttpApi, HttpPlugin, HttpRoute } from "../../dispatch/http-route.ts";
import type { CallRules } from "../../dispatch/may-call.ts";
import type { Module, ModuleContext } from "../../dispatch/module.ts";
import type { OpenKept } from "../../dispatch/process-state.ts";
import { openSecret } from "../../state/kept-secret.ts";
import { APPROVED_CALL, APPROVED_CALL_TOOL } from "./approved-call-tool.ts";
import type { McpFront, Protection } from "./front.ts";
import { frontContracts } from "./front-contracts.ts";
import { createMcpApi } from "./mcp-api.ts";
import { createProjection } from "./projection.ts";
import { PROPOSE, PROPOSE_TOOL } from "./propose-tool.ts";
import { RequestStates } from "./request-state.ts";
import { createMetadataFace, METADATA_PREFIX } from "./resource-metadata.ts";
import { McpState } from "./state.ts";
import { openMcpTasks } from "./task.ts";
import { createToolListing } from "./tool-listing.ts";
import { Toolbox } from "./toolbox.ts";
import { visibleTools } from "./visible-tools.ts";
import { waitingCalls } from "./waiting-calls.ts";

/** It goes behind the gateway, which serves it, and whose agent its clients speak as. */
export const mcpModule: Module = {
  name: "mcp",
  async provision(context) {
    const { mcp, server } = context.config;
    const { http } = context;
    if (!mcp.enabled || http === undefined) return {};
    // The library is loaded late: only those wait for it who serve MCP.
    const kept = await context.once(openState);
    const endpoint = await kept.open(server.serverId, context);
    const frontOf = once(() => createFront(context, http, kept));
    const plugin: HttpPlugin = (app) => createMcpApi(frontOf(), endpoint)(app);
    return {
      httpRoutes: [{ prefix: mcp.path, api: API, plugin }, ...metadata(context, frontOf)],
      start: () => kept.audience(context).serve(frontOf()),
    };
  },
};

const API: HttpApi = { name: "mcp", description: "MCP: the endpoints of this server as tools." };

const SECRET = { collection: "mcp-secrets", key: "request-state" };

const openState: OpenKept<McpState> = async (store, clock) => {
  const states = new RequestStates(await openSecret(store, SECRET), () => clock.now());
  return new McpState(await openMcpTasks(store, clock), states);
};

/** Routes are registered when all is put together: what they are made from is made then, once. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Where a token is asked for, who gives it is told beside. */
function metadata(context: ModuleContext, frontOf: () => McpFront): readonly HttpRoute[] {
  const { mcp, server, policies } = context.config;
  if (policies.oauth === undefined) return [];
  const plugin: HttpPlugin = (app) => {
    const { protection } = frontOf();
    if (protection !== undefined) createMetadataFace(protection, server.serverId)(app);
  };
  return [{ prefix: `${METADATA_PREFIX}${mcp.path}`, api: API, plugin }];
}

function createFront(
  context: ModuleContext,
  http: HttpSide,
  { tasks, states }: McpState,
): McpFront {
  const { config, compiler, state, tokens } = context;
  const { dispatcher } = context.dispatch();
  const { serverId } = config.server;
  const rules = rulesOf(config);
  const toolbox = createToolbox(context, rules);
  const contracts = frontContracts({ context, toolbox, rules, states, ownNames: OWN_NAMES });
  const visible = visibleTools({ toolbox, contracts, standing: state.lifecycle });
  return {
    ...{ serverId, toolbox, contracts, dispatcher, tokens, tasks, ...http.speaker },
    ...waitingCalls(state.escalations),
    isAnonymousServed: config.mcp.anonymous,
    protection: protectionOf(context, http, toolbox),
    listing: createToolListing(visible, compiler),
    projection: createProjection(context, visible, contracts),
    settle: (done) => state.ledger.settle(done),
  };
}

const OWN_NAMES: ReadonlySet<string> = new Set([APPROVED_CALL, PROPOSE]);

function rulesOf({ policies }: Config): CallRules {
  return {
    scopeRequiredForInvocation: policies.scopeRequiredForInvocation,
    tokenMethods: new Set(policies.oauth?.requiredOnMethods),
  };
}

function createToolbox(
  { config, methodPolicy, dispatch }: ModuleContext,
  rules: CallRules,
): Toolbox {
  const { mcp, policies } = config;
  const routes = dispatch().registry.entries;
  const isApproving =
    policies.approvals.length > 0 ||
    routes.some(({ definition }) => definition.approval !== undefined);
  return new Toolbox({
    routes,
    further: [
      ...(isApproving ? [APPROVED_CALL_TOOL] : []),
      ...(dispatch().negotiation.offers === undefined ? [] : [PROPOSE_TOOL]),
    ],
    tools: mcp.tools,
    rules,
    isListed: ({ isListed }) => isListed,
    isAllowed: (method) => methodPolicy.isAllowed(method),
  });
}

function protectionOf(
  { config: { mcp, policies } }: ModuleContext,
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
