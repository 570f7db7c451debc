/**
 * Is the method one that this server accepts, and the path one that can be asked for?
 * Gate 06. Is the method another name for one? One hop, never two; the wire's name stays readable as
 * `requestedMethod`. Refuses nothing.   AGTP-API §9.2 "aliases", §3.6
 * Gate 07. Is it in the catalog, opted-in legacy, or custom? 459. A deprecated method passes with its
 * AGTP-Catalog-Warning.   AGTP-API §3.2, §4.4
 * Gate 08. Is the path well-formed, and free of method names? 460.   AGTP-API §5.1, §5.2
 * Gate 09. Does the policy admit the method here? 405. The (aliased) method is judged first; then a
 * redirect applies, and its target is judged too.   AGTP-API §9, §11
 */

import type { Paced } from "../../base/paced.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { Pair } from "../../catalog/pair.ts";
import { checkPath, type MethodNames } from "../../catalog/path-grammar.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Exchange } from "../exchange.ts";
import { compileCatalogWarnings } from "../policy/catalog-warnings.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import { endpointViolation, methodViolation, type Refusal } from "../refusals/refusal.ts";
import { refuseMethod } from "../refusals/refuse-method.ts";
import type { Route } from "../routes/route.ts";
import type { Gate } from "./gate.ts";

/** Gate 06: looks into the compiled alias table. */
export function aliasGate(policy: MethodPolicy): Gate {
  return (exchange) => {
    translateMethod(exchange, policy);
    return undefined;
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

/** The most characters of an unknown method that a refusal repeats. */
const QUOTED_METHOD_LENGTH = 64;

/** Gate 07: looks into the catalog and at the policy's own names. */
export function methodGate(catalog: Catalog, policy: MethodPolicy): Gate {
  const warnings = compileCatalogWarnings(catalog);
  const violation = createViolations(catalog.version, policy);
  return (exchange) => {
    const { method } = exchange;
    if (!policy.isKnown(method)) return violation(method.slice(0, QUOTED_METHOD_LENGTH));
    if (warnings.size > 0) exchange.catalogWarning = warnings.get(method);
    return undefined;
  };
}

/**
 * A client that keeps making one mistake must not cost more than one that makes none, nor one that
 * makes another each time: each takes the place of some other, and no table grows (a map took 0.3 µs).
 */
const REMEMBERED_METHODS = 256;

interface RememberedMethod {
  readonly method: string;
  readonly refusal: Refusal;
}

function createViolations(
  catalogVersion: string,
  { closeMatches }: Pick<MethodPolicy, "closeMatches">,
): (method: string) => Refusal {
  const places = new Array<RememberedMethod | undefined>(REMEMBERED_METHODS).fill(undefined);
  return (method) => {
    const place = placeOf(method);
    const known = places[place];
    if (known?.method === method) return known.refusal;
    const refusal = methodViolation(method, catalogVersion, closeMatches(method));
    places[place] = { method, refusal };
    return refusal;
  };
}

function placeOf(method: string): number {
  let mark = method.length;
  for (let at = 0; at < method.length; at += 1) mark = (mark * 31 + method.charCodeAt(at)) | 0;
  return mark & (REMEMBERED_METHODS - 1);
}

/** Gate 08: judges paths by catalog, legacy and custom names. */
export function pathGate(check: PathCheck): Gate {
  return ({ method, path }) => {
    const fault = check(method, path);
    return fault && endpointViolation(fault.segment, fault.message);
  };
}

/** The fault of a path; undefined: nothing. */
export type PathCheck = (method: string, path: string) => ReturnType<typeof checkPath>;

/** Compiles the check of paths, an entry a step. */
export function* compilingPathCheck(
  names: MethodNames,
  registry: Pick<EndpointRegistry<Pair>, "entries" | "findLiteral">,
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

/** Gate 09: looks into the compiled policy; the registry only serves the 405 body. */
export function policyGate(
  policy: MethodPolicy,
  registry: EndpointRegistry<Route>,
  catalog: Catalog,
): Gate {
  const warnings = compileCatalogWarnings(catalog);
  return (exchange) => {
    if (!policy.isAllowed(exchange.method)) return refuseMethod(exchange, policy, registry);
    if (!followRedirect(exchange, policy, warnings)) return undefined;
    return policy.isAllowed(exchange.method) ? undefined : refuseMethod(exchange, policy, registry);
  };
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
