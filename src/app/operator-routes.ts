/**
 * The routes of the operator's endpoints (tier B): each endpoint joined with what realises it.
 * AGTP-API §6.1
 */

import { type Drive, mapPaced } from "../base/paced.ts";
import type { Problem } from "../base/problem.ts";
import type { MethodPolicy } from "../dispatch/policy/method-policy.ts";
import { canonicalPair, isProtocolPair } from "../dispatch/routes/pairs.ts";
import { createRoute, type Route } from "../dispatch/routes/route.ts";
import type { HandlerBinding } from "../endpoint/endpoint.ts";
import type { LoadedEndpoint } from "../endpoint/load-endpoints.ts";
import type { Recipe } from "../endpoint/recipe.ts";
import { type BoundHandler, bindHandlers } from "../handlers/bind.ts";
import type { McpServers } from "../handlers/mcp/mcp-servers.ts";
import { promisingOutput } from "../handlers/mcp/promised-output.ts";
import type { ModuleLoader } from "../handlers/module-loader.ts";
import type { UpstreamPools } from "../handlers/upstream-pools.ts";
import { covers } from "../identity/authority-scope.ts";

/** The parts that the endpoints are bound to. */
export interface OperatorParts {
  readonly endpoints: readonly LoadedEndpoint[];
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly methodPolicy: MethodPolicy;
  readonly loader: ModuleLoader;
  readonly pools: UpstreamPools;
  readonly mcpServers: McpServers | undefined;
  readonly handlerTimeoutMs: number;
  readonly drive: Drive;
}

/** The routes that could be bound, and what is wrong with the others. */
export interface OperatorRoutes {
  readonly routes: readonly Route[];
  readonly problems: readonly Problem[];
}

/** Binds every endpoint that can be bound. */
export async function bindOperatorRoutes(parts: OperatorParts): Promise<OperatorRoutes> {
  const { endpoints, recipes, methodPolicy, loader, pools, drive, mcpServers } = parts;
  const { bound, problems } = await bindHandlers({
    endpoints: endpoints.map(({ definition }) => definition),
    recipes,
    loader,
    pools,
    mcpServers,
    covers,
    drive,
    floor: isProtocolPair,
    canonical: (pair) => canonicalPair(methodPolicy, pair),
  });
  const routes = mapPaced(endpoints, (endpoint) => {
    const handler = bound.get(endpoint.definition);
    return handler && operatorRoute(endpoint, handler, parts);
  });
  const made = await drive(routes);
  return { routes: made.filter((route) => route !== undefined), problems };
}

/** Joins an endpoint with what realises it. */
function operatorRoute(
  { definition, input, output, shape }: LoadedEndpoint,
  { handler, precheck, steps }: BoundHandler,
  { handlerTimeoutMs, mcpServers }: OperatorParts,
): Route {
  const isTool = definition.handler.type === "mcp_tool";
  return createRoute(definition, isTool ? promisingOutput(handler, output) : handler, {
    ...{ tier: "B", input, output, shape, precheck, steps },
    // An upstream that is too slow is `upstream_timeout`, which the endpoint declares.
    endsInTime: upstreamTimeout(definition.handler, mcpServers) <= handlerTimeoutMs,
  });
}

/** The longest that an upstream may take; as long as it likes where there is none. */
function upstreamTimeout(binding: HandlerBinding, servers: McpServers | undefined): number {
  if (binding.type === "external_service") return binding.timeoutMs;
  if (binding.type !== "mcp_tool") return Number.POSITIVE_INFINITY;
  return servers?.timeoutMs(binding.server) ?? Number.POSITIVE_INFINITY;
}
