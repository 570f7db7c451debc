/** The route of an operator's endpoint (tier B).   AGTP-API §6.1 */
import type { LimitsConfig } from "../config/config.ts";
import type { LoadedEndpoint } from "../contract/load-endpoints.ts";
import { endpointWarning, type Route } from "../dispatch/route.ts";
import type { BoundHandler } from "../handlers/bind.ts";

/** Joins an endpoint with what realises it. */
export function operatorRoute(
  { definition, input, output, shape }: LoadedEndpoint,
  { handler, precheck }: BoundHandler,
  { handlerTimeoutMs }: LimitsConfig,
): Route {
  const binding = definition.handler;
  return {
    method: definition.method,
    path: definition.path,
    tier: "B",
    isReading: false,
    definition,
    input,
    output,
    shape,
    errors: new Set(definition.errors),
    warning: endpointWarning(definition),
    handler,
    // An upstream that is too slow is `upstream_timeout`, which the endpoint declares.
    endsInTime: binding.type === "external_service" && binding.timeoutMs <= handlerTimeoutMs,
    ...(precheck === undefined ? {} : { precheck }),
  };
}
