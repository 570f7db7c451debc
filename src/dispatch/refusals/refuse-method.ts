/** The 405 of a method that is not exposed on a path, with what is.   AGTP-API §11 */
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Exchange } from "../exchange.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { Route } from "../routes/route.ts";
import { methodNotAllowed, type Refusal } from "./refusal.ts";

/** Names the methods that the path has, and where others are redirected. */
export function refuseMethod(
  { method, path }: Pick<Exchange, "method" | "path">,
  policy: MethodPolicy,
  registry: EndpointRegistry<Route>,
): Refusal {
  const methods = registry.methodsFor(path);
  const isAllowed = (name: string): boolean => policy.isAllowed(name);
  // The list of a path without parameters is the same each time, and was written before.
  const allowed = methods.every(isAllowed) ? methods : methods.filter(isAllowed);
  return methodNotAllowed(
    `method "${method}" is not exposed on this path`,
    allowed,
    policy.redirectsFor(path),
  );
}
