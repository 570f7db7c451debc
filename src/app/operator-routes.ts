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
import { AwaitedAnswer, type McpServers, type UpstreamHandler } from "../handlers/call-upstream.ts";
import { isHandlerError } from "../handlers/handler.ts";
import type { ModuleLoader } from "../handlers/module-loader.ts";
import type { UpstreamPools } from "../handlers/upstream-pools.ts";
import { covers } from "../identity/authority-scope.ts";
import type { CompiledSchema } from "../schema/schema.ts";

/** The parts that the endpoints are bound to. */
interface OperatorParts {
  readonly endpoints: readonly LoadedEndpoint[];
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly methodPolicy: MethodPolicy;
  readonly loader: ModuleLoader;
  readonly pools: UpstreamPools;
  readonly mcpServers: McpServers | undefined;
  readonly handlerTimeoutMs: number;
  readonly drive: Drive;
}

/** Binds every endpoint that can be bound. */
export async function bindOperatorRoutes(
  parts: OperatorParts,
): Promise<{ readonly routes: readonly Route[]; readonly problems: readonly Problem[] }> {
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

/**
 * A handler whose bodies are what the endpoint promises: an MCP server's answer is a stranger's, and one
 * that the output schema does not take is a failure of the upstream.   AGTP-API §12.3
 */
function promisingOutput(handler: UpstreamHandler, output: CompiledSchema): UpstreamHandler {
  return async (call, exchange) => {
    const result = await handler(call, exchange);
    if (result instanceof AwaitedAnswer) return result;
    if (isHandlerError(result) || result.body === undefined) return result;
    const violations = output.check(result.body);
    if (violations === undefined) return result;
    const error = "upstream_malformed_response";
    call.log.warn({ error, violations }, "upstream call failed");
    return { error, message: "the upstream's response is not what the endpoint promises" };
  };
}
