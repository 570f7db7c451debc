/**
 * Which methods this server answers, as the first response of a connection says it: the floor first,
 * then what the operator's endpoints add, without what the policy refuses.   AGTP "Response Headers"
 */
import { FLOOR_METHODS } from "../catalog/catalog.ts";
import type { EndpointRegistry } from "../endpoint/endpoint-registry.ts";
import type { MethodPolicy } from "./method-policy.ts";
import type { Route } from "./route.ts";

/** The methods, comma-separated; of contracts and aliases nothing is said. */
export function supportedMethods(
  registry: Pick<EndpointRegistry<Route>, "entries">,
  policy: Pick<MethodPolicy, "isAllowed">,
): string {
  const registered = registry.entries.map(({ method }) => method).sort();
  const methods = new Set<string>([...FLOOR_METHODS, ...registered]);
  return [...methods].filter((method) => policy.isAllowed(method)).join(", ");
}
