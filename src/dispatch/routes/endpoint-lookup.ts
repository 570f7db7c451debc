/**
 * Finds the endpoint that a request is for: its method by alias and redirect, and the route of the
 * pair. The gates find it step by step; a request that was refused before them is only looked up.
 * AGTP-API §9.2, §3.6
 */
import { atOnce, type Paced } from "../../base/paced.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { checkPath, type MethodNames } from "../../catalog/path-grammar.ts";
import type { EndpointRegistry, RouteEntry } from "../../endpoint/endpoint-registry.ts";
import type { Exchange } from "../exchange.ts";
import { compileCatalogWarnings } from "../policy/catalog-warnings.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { Route } from "./route.ts";

/** The fault of a path; undefined: nothing. */
export type PathCheck = (method: string, path: string) => ReturnType<typeof checkPath>;

/** Most requests are for a literal path of the registry, which needs to be judged once only. */
export function compilePathCheck(...parts: Parameters<typeof compilingPathCheck>): PathCheck {
  return atOnce(compilingPathCheck(...parts));
}

/** The same, an entry a step. */
export function* compilingPathCheck(
  names: MethodNames,
  registry: Pick<EndpointRegistry<RouteEntry>, "entries" | "findLiteral">,
): Paced<PathCheck> {
  const faulty = new Set<string>();
  for (const { method, path } of registry.entries) {
    yield;
    const isLiteral = registry.findLiteral(method, path) !== undefined;
    if (isLiteral && checkPath(path, names) !== undefined) faulty.add(path);
  }
  return (method, path) => {
    if (registry.findLiteral(method, path) !== undefined && !faulty.has(path)) return undefined;
    return checkPath(path, names);
  };
}

/** Puts the method in the place of its other name, with what that adds to the input. */
export function translateMethod(exchange: Exchange, policy: Pick<MethodPolicy, "alias">): void {
  const alias = policy.alias(exchange.method);
  if (alias === undefined) return;
  exchange.method = alias.method;
  exchange.mappedParameters = alias.parameters;
  const key = alias.takesIdempotencyKey ? exchange.header("idempotency-key") : undefined;
  if (key !== undefined) exchange.mappedParameters = { idempotency_key: key };
}

/** Puts the target of a redirect in the place of what was asked for; false: there is none. */
export function followRedirect(
  exchange: Exchange,
  policy: Pick<MethodPolicy, "redirect">,
  warnings: ReadonlyMap<string, string>,
): boolean {
  const target = policy.redirect(exchange.method, exchange.path);
  if (target === undefined) return false;
  exchange.method = target.method;
  exchange.path = target.path;
  // §9.2: as if the target had been requested, so a deprecated target warns too.
  exchange.catalogWarning ??= warnings.get(target.method);
  return true;
}

/** Finds the route of the pair; without one, that of an earlier pair is none either. */
export function resolveRoute(exchange: Exchange, registry: EndpointRegistry<Route>): void {
  const match = registry.find(exchange.method, exchange.path);
  exchange.route = match?.entry;
  exchange.pathValues = match?.values;
}

/** The places that an endpoint is looked up in. */
export interface LookupParts {
  readonly catalog: Catalog;
  readonly methodPolicy: MethodPolicy;
  readonly registry: EndpointRegistry<Route>;
  readonly pathCheck: PathCheck;
}

/**
 * Looks up what a refused request asked for: every response about a deprecated method or endpoint
 * says so, even one to a stranger.   §13.1
 */
export function createEndpointLookup(parts: LookupParts): (exchange: Exchange) => void {
  const { methodPolicy, registry, pathCheck } = parts;
  const warnings = compileCatalogWarnings(parts.catalog);
  return (exchange) => {
    translateMethod(exchange, methodPolicy);
    if (!methodPolicy.isKnown(exchange.method)) return;
    exchange.catalogWarning = warnings.get(exchange.method);
    if (pathCheck(exchange.method, exchange.path) !== undefined) return;
    if (!methodPolicy.isAllowed(exchange.method)) return;
    followRedirect(exchange, methodPolicy, warnings);
    if (methodPolicy.isAllowed(exchange.method)) resolveRoute(exchange, registry);
  };
}
