/**
 * Lists the methods that this server answers, as the first response of a connection says it: those
 * of the floor first, then what other endpoints add, without what the policy refuses.   AGTP
 * "Response Headers"
 */
import type { Paced } from "../../base/paced.ts";
import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { Route } from "./route.ts";

/** Lists the methods; of contracts and aliases nothing is said. */
export function* listingMethods(
  routes: Iterable<Pick<Route, "method" | "path">>,
  policy: Pick<MethodPolicy, "isAllowed">,
): Paced<readonly string[]> {
  const registered = new Set<string>();
  const onRoot = new Set<string>();
  for (const { method, path } of routes) {
    registered.add(method);
    if (path === "/") onRoot.add(method);
    yield;
  }
  const floor = FLOOR_METHODS.filter((method) => onRoot.has(method));
  const methods = new Set<string>([...floor, ...[...registered].sort()]);
  return [...methods].filter((method) => policy.isAllowed(method));
}
