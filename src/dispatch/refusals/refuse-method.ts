/** The 405 of a method that is not exposed on a path, with what is.   AGTP-API §11 */
import { flatText } from "../../base/kept-text.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Exchange } from "../exchange.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { Route } from "../routes/route.ts";
import { methodNotAllowed, type Refusal, sameForAll } from "./refusal.ts";

/** The method that was refused last beside a list of methods; its refusal, once it has come twice. */
interface LastRefused {
  readonly method: string;
  refusal: Refusal | undefined;
}

/** By the list of a path's methods, which is the same each time. */
const lastRefused = new WeakMap<readonly string[], LastRefused>();

/** Names the methods that the path has, and where others are redirected. */
export function refuseMethod(
  { method, path }: Pick<Exchange, "method" | "path">,
  policy: MethodPolicy,
  registry: EndpointRegistry<Route>,
): Refusal {
  const methods = registry.methodsFor(path);
  const isAllowed = (name: string): boolean => policy.isAllowed(name);
  const redirects = policy.redirectsFor(path);
  const message = `method "${method}" is not exposed on this path`;
  if (!methods.every(isAllowed)) {
    return methodNotAllowed(message, methods.filter(isAllowed), redirects);
  }
  const before = lastRefused.get(methods);
  if (hasMembers(redirects) || before?.method !== method) {
    lastRefused.set(methods, { method: flatText(method), refusal: undefined });
    return methodNotAllowed(message, methods, redirects);
  }
  before.refusal ??= sameForAll(methodNotAllowed(message, methods, redirects));
  return before.refusal;
}

function hasMembers(record: object): boolean {
  for (const _ in record) return true;
  return false;
}
