/**
 * Is the method one that this server accepts, the path one that can be asked for, and which endpoint
 * answers?
 * Gate 06. Is the method another name for one? One hop, never two; the wire's name stays readable as
 * `requestedMethod`. Refuses nothing.   AGTP-API §9.2 "aliases", §3.6
 * Gate 07. Is it in the catalog, opted-in legacy, or custom? 459. A deprecated method passes with its
 * AGTP-Catalog-Warning.   AGTP-API §3.2, §4.4
 * Gate 08. Is the path well-formed, and free of method names? 460.   AGTP-API §5.1, §5.2
 * Gate 09. Does the policy admit the method here? 405. The (aliased) method is judged first; then a
 * redirect applies, and its target is judged too.   AGTP-API §9, §11
 *
 * Gate 11. Which endpoint answers, and may this caller reach it?
 * 401 `oauth-required` where the method needs a bearer token. A miss is left to negotiation. 262
 * `credentials-missing` on the operator's endpoints and on whatever changes state, and for HTTP clients
 * that nobody vouches for where an agent is to work; reading the protocol's own is up to
 * `anonymous_discovery`. 503 and 410 once more, where a redirect led a suspended or retired agent away
 * from what is exempt.   AGTP-API §5.4, §6.1, §8.7
 */
import type { Paced } from "../../base/paced.ts";
import { type Catalog, isExemptFromLifecycle } from "../../catalog/catalog.ts";
import type { Pair } from "../../catalog/pair.ts";
import { checkPath, type MethodNames } from "../../catalog/path-grammar.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import type { Exchange } from "../exchange.ts";
import { compileCatalogWarnings } from "../policy/catalog-warnings.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import {
  agentUnauthenticated,
  authorizationRequired,
  endpointViolation,
  methodViolation,
  type Refusal,
  sameForAll,
} from "../refusals/refusal.ts";
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

/** The rules that it decides by. */
export interface EndpointGateOptions {
  readonly registry: EndpointRegistry<Route>;
  readonly anonymousDiscovery: boolean;
  /** Methods that need a principal of `[policies.oauth]`. */
  readonly tokenMethods: ReadonlySet<string>;
}

/** Resolves the route; without one it passes. */
export function endpointGate({
  registry,
  anonymousDiscovery,
  tokenMethods,
}: EndpointGateOptions): Gate {
  return (exchange) => {
    const { method, caller } = exchange;
    // A contract that was presented stands in the place of what may be registered.
    const presented = exchange.route;
    // Even a refusal is about the endpoint that was asked for, and carries its warning.   §6.5
    if (presented === undefined) resolveRoute(exchange, registry);
    if (tokenMethods.has(method) && caller.principalId === undefined) {
      return agentUnauthenticated(`${method} needs a bearer token`, "oauth-required");
    }
    const { inactiveRefusal } = exchange;
    if (inactiveRefusal !== undefined && !isExemptFromLifecycle(method)) return inactiveRefusal;
    const { route } = exchange;
    if (presented !== undefined || route === undefined) return undefined;
    return caller.agentId === undefined
      ? refuseAnonymous(exchange, route, anonymousDiscovery)
      : refuseAnybody(exchange, route);
  };
}

/** Finds the route of the pair; without one, that of an earlier pair is none either. */
export function resolveRoute(exchange: Exchange, registry: EndpointRegistry<Route>): void {
  const match = registry.find(exchange.method, exchange.path);
  exchange.route = match?.entry;
  exchange.pathValues = match?.values;
}

/** An HTTP client that has shown nothing has no more to say over agents than one without Agent-ID. */
function refuseAnybody({ peer, caller }: Exchange, route: Route): Refusal | undefined {
  if (route.startsWork !== true || peer.isAnybody !== true) return undefined;
  if (caller.principalId !== undefined) return undefined;
  const message = "agents and tasks are not started for HTTP clients that nobody vouches for";
  return authorizationRequired("credentials-missing", message);
}

function refuseAnonymous(
  { peer }: Exchange,
  route: Route,
  anonymousDiscovery: boolean,
): Refusal | undefined {
  if (!route.isReading) {
    // An issuer or operator is known by its certificate, and need not be an agent.
    const isShown = peer.certificate !== undefined || peer.operator !== undefined;
    if (route.takesCertificate && isShown) return undefined;
    return NEEDS_AGENT;
  }
  return anonymousDiscovery ? undefined : NO_STRANGERS;
}

const NEEDS_AGENT = sameForAll(
  authorizationRequired("credentials-missing", "this endpoint needs an Agent-ID"),
);
const NO_STRANGERS = sameForAll(
  authorizationRequired(
    "anonymous-discovery-disabled",
    "this server answers discovery to identified agents only",
  ),
);
