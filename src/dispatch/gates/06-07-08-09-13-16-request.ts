/**
 * Is the request one that can be answered: its method, its path, its body?
 * Gate 06. Is the method another name for one? One hop, never two; the wire's name stays readable as
 * `requestedMethod`. Refuses nothing.   AGTP-API §9.2 "aliases", §3.6
 * Gate 07. Is it in the catalog, opted-in legacy, or custom? 459. A deprecated method passes with its
 * AGTP-Catalog-Warning.   AGTP-API §3.2, §4.4
 * Gate 08. Is the path well-formed, and free of method names? 460.   AGTP-API §5.1, §5.2
 * Gate 09. Does the policy admit the method here? 405. The (aliased) method is judged first; then a
 * redirect applies, and its target is judged too.   AGTP-API §9, §11
 *
 * Gate 13. Can the input be read: the body, the query, and the values in the path? The body's envelope
 * may name a session and a task, too: gates 14 and 15 look at those.
 * 400 a body or query that cannot be read · 460 an undecodable path value.   AGTP-API §5.5
 * Gate 16. Does the merged input satisfy the endpoint's input schema?
 * 422 with every violation, up to 20.   AGTP-API §13.2, §13.3
 */
import type { Paced } from "../../base/paced.ts";
import { type Catalog, catalogWarning } from "../../catalog/catalog.ts";
import type { Pair } from "../../catalog/pair.ts";
import { checkPath, type MethodNames } from "../../catalog/path-grammar.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import {
  decodeValues,
  mergeInput,
  NO_JSON,
  parseBody,
  parseQuery,
  unwrapEnvelope,
} from "../../endpoint/input.ts";
import { MAX_REPLACED_OCTETS, UndeclaredMembers } from "../../endpoint/undeclared-members.ts";
import { isOpaqueId } from "../../identity/identifiers.ts";
import type { Peer } from "../caller/peer.ts";
import type { Exchange } from "../exchange.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import {
  badRequest,
  endpointViolation,
  type Refusal,
  sameForAll,
  schemaViolation,
} from "../refusals/refusal.ts";
import { createViolations, refuseMethod } from "../refusals/refuse-method.ts";
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

/** Gate 13: reads and merges; the first place that looks into a body. */
export const bodyGate: Gate = (exchange) => {
  const { route } = exchange;
  if (route === undefined) return undefined;
  exchange.undeclared = undeclaredMembers(exchange, route);
  return readInput(exchange, route);
};

function readInput(exchange: Exchange, route: Route): Refusal | undefined {
  const body = readParameters(exchange, route);
  if ("kind" in body) return body;
  const { query: rawQuery } = exchange.request;
  if (rawQuery !== undefined && rawQuery !== "") {
    exchange.query = parseQuery(rawQuery);
    if (exchange.query === undefined) {
      return BAD_QUERY;
    }
  }
  const values = decodeValues(exchange.pathValues);
  if (typeof values === "string") {
    return endpointViolation(values, "the segment is not percent-encoded UTF-8");
  }
  const parameters = withMapped(exchange, route, body.parameters);
  const { query, undeclared } = exchange;
  exchange.input = mergeInput(route.shape, parameters, query, values, undeclared);
  return undefined;
}

const BAD_BODY = sameForAll(badRequest("invalid-body", NO_JSON));
const BAD_QUERY = sameForAll(
  badRequest("invalid-query", "the query string is not percent-encoded UTF-8"),
);

interface Parameters {
  readonly parameters: Readonly<Record<string, unknown>>;
}

const NO_PARAMETERS: Parameters = { parameters: {} };

function readParameters(exchange: Exchange, route: Route): Parameters | Refusal {
  if (exchange.inner !== undefined) return { parameters: exchange.inner.input };
  const { body, bodyText: text } = exchange.request;
  if (body.length === 0) return NO_PARAMETERS;
  const contentType = exchange.header("content-type");
  if (contentType !== undefined && !isJsonType(contentType)) {
    const message = `the body must be JSON, got content type "${contentType.slice(0, 100)}"`;
    return badRequest("unsupported-content-type", message);
  }
  const { undeclared, peer } = exchange;
  const isDoubtful = isDoubted(peer);
  const { deepMembers } = route;
  const parsed = parseBody(body, { deepMembers, text, undeclared, isDoubtful });
  if (parsed.kind === "invalid") {
    if (parsed.message !== NO_JSON) return badRequest("invalid-body", parsed.message);
    doubt(peer);
    return BAD_BODY;
  }
  const envelope = unwrapEnvelope(parsed.value, exchange.request.method);
  if (undeclared?.isInParameters === true && envelope.parameters === parsed.value) {
    // They are members of a member, which have a schema of their own.
    exchange.undeclared = undefined;
    return readParameters(exchange, route);
  }
  return adoptIdentifiers(exchange, envelope.taskId, envelope.sessionId) ?? envelope;
}

/** The header beats the body; both are echoed or kept, so both obey the header's syntax. */
function adoptIdentifiers(
  exchange: Exchange,
  taskId: string | undefined,
  sessionId: string | undefined,
): Refusal | undefined {
  if (taskId !== undefined && !isOpaqueId(taskId)) return invalidIdentifier("task_id");
  if (sessionId !== undefined && !isOpaqueId(sessionId)) return invalidIdentifier("session_id");
  exchange.taskId ??= taskId;
  exchange.sessionId ??= sessionId;
  return undefined;
}

function invalidIdentifier(name: string): Refusal {
  return badRequest("invalid-identifier", `${name} must be 1 to 256 visible ASCII characters`);
}

/** `application/json`, `text/json`, and every `+json` type, with or without parameters. */
function isJsonType(contentType: string): boolean {
  if (contentType === "application/json" || contentType === "application/vnd.agtp+json")
    return true;
  const end = contentType.indexOf(";");
  const type = (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  return type.endsWith("/json") || type.endsWith("+json");
}

/** §3.6: a legacy verb's `action` and `idempotency_key`, where the endpoint declares them. */
function withMapped(
  exchange: Exchange,
  { definition }: Route,
  parameters: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { mappedParameters } = exchange;
  if (mappedParameters === undefined) return parameters;
  const declared = definition.inputSchema["properties"] ?? {};
  const added = Object.entries(mappedParameters).filter(([name]) => Object.hasOwn(declared, name));
  return added.length === 0 ? parameters : { ...Object.fromEntries(added), ...parameters };
}

/** Gate 16: asks the schema, and then the handler's own rules. */
export const inputGate: Gate = (exchange) => {
  const { route, undeclared } = exchange;
  if (route === undefined) return undefined;
  const violations = route.input.check(exchange.input, isSmall(exchange), undeclared);
  if (violations !== undefined) {
    watch(exchange, route);
    return schemaViolation(violations);
  }
  if (undeclared?.isPreliminary === true) {
    exchange.undeclared = undefined;
    readInput(exchange, route);
  }
  const broken = route.precheck?.(exchange.input);
  return broken && schemaViolation(broken);
};

/** No text has more members and items than half its octets. */
const SMALL_OCTETS = 8192;

function isSmall({ inner, request }: Exchange): boolean {
  const octets = request.body.length + (request.query?.length ?? 0);
  return inner === undefined && octets <= SMALL_OCTETS;
}

/**
 * The requests of a connection that are looked at after it was refused something which a handler never saw:
 * before they are parsed, because what V8 keeps of them, or throws, costs more than the request. Nobody else's
 * requests are.   AGTP-API §13.2
 */
const WATCHED_REQUESTS = 64;

/** Tells whether the next body of a connection is judged before it is parsed: one was no JSON. */
function isDoubted(peer: Peer): boolean {
  if (peer.doubted === undefined) return false;
  peer.doubted = peer.doubted > 1 ? peer.doubted - 1 : undefined;
  return true;
}

/** Marks a connection, whose next bodies are judged first. */
function doubt(peer: Peer): void {
  peer.doubted = WATCHED_REQUESTS;
}

/**
 * Marks a connection whose request was refused and named a member that the refused one before did not: its
 * next requests are looked at. A mistake that is repeated names nothing new.
 */
function watch({ inner, peer, input, undeclared }: Exchange, { shape }: Route): void {
  if (inner !== undefined) return;
  const name = undeclared === undefined ? shape.declared?.firstBeyond(input) : undeclared.first;
  if (name === undefined) return;
  const mark = markOf(name);
  if (mark === peer.undeclared) return;
  peer.undeclared = mark;
  peer.watched = WATCHED_REQUESTS;
}

const MARKED_LENGTH = 64;

/** Tells names apart well enough, and keeps no part of a body alive. */
function markOf(name: string): number {
  let mark = name.length;
  const end = Math.min(name.length, MARKED_LENGTH);
  for (let at = 0; at < end; at += 1) mark = (mark * 31 + name.charCodeAt(at)) | 0;
  return mark;
}

/**
 * Undefined: the names of a request are not looked at. Those of its query are not either where its body's
 * stay: a stand-in could be the name of a member.
 */
function undeclaredMembers(
  { inner, peer, request }: Exchange,
  { shape, deepMembers }: Route,
): UndeclaredMembers | undefined {
  if (peer.watched === undefined || inner !== undefined) return undefined;
  peer.watched = peer.watched > 1 ? peer.watched - 1 : undefined;
  if (request.body.length > MAX_REPLACED_OCTETS || deepMembers !== undefined) return undefined;
  return shape.declared && new UndeclaredMembers(shape.declared, request.query !== undefined);
}

/** The AGTP-Catalog-Warning of every deprecated method. */
export function compileCatalogWarnings(catalog: Catalog): ReadonlyMap<string, string> {
  const warnings = new Map<string, string>();
  for (const verb of catalog.verbs.values()) {
    const warning = catalogWarning(verb);
    if (warning !== undefined) warnings.set(verb.name, warning);
  }
  return warnings;
}
