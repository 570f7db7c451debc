/**
 * Assembles the input of a request from its body, its query and its path values. The body's
 * envelope may also name a session and a task, which gates 14 and 15 check. 400 an unreadable body
 * or query · 460 an undecodable path value.   AGTP-API §5.5
 */
import {
  decodeValues,
  type Identifiers,
  identifiersIn,
  mergeInput,
  NO_JSON,
  parseBody,
  parseQuery,
  unwrapEnvelope,
} from "../endpoint/input.ts";
import { isOpaqueId } from "../identity/identifiers.ts";
import { doubt, isDoubted } from "./caller/watched-peer.ts";
import type { Exchange, InnerOrigin } from "./exchange.ts";
import { badRequest, endpointViolation, type Refusal, sameForAll } from "./refusals/refusal.ts";
import { isJsonType } from "./reply.ts";
import type { Route } from "./routes/route.ts";

/** Reads the input into the exchange, or refuses it. */
export function readInput(exchange: Exchange, route: Route): Refusal | undefined {
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
    const message = "the segment is not percent-encoded UTF-8";
    return endpointViolation({ segment: values, message });
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

function readParameters(exchange: Exchange, route: Route): Parameters | Refusal {
  if (exchange.inner !== undefined) return dispatchedInput(exchange.inner, route);
  const { body, bodyText: text } = exchange.request;
  // A new object, since without path and query the handler may write into it.
  if (body.length === 0) return { parameters: {} };
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
    // The undeclared members belong to a nested member, which has a schema of its own.
    exchange.undeclared = undefined;
    return readParameters(exchange, route);
  }
  const own = isProposal(route) ? identifiersIn(envelope.parameters) : NO_IDENTIFIERS;
  const { taskId = own.taskId, sessionId = own.sessionId } = envelope;
  return adoptIdentifiers(exchange, taskId, sessionId) ?? envelope;
}

/** Tells whether a route is PROPOSE, whose session is among the input's own members.   AGTP "PROPOSE" */
function isProposal({ tier, method }: Route): boolean {
  return tier === "A" && method === "PROPOSE";
}

const NO_IDENTIFIERS: Identifiers = {};

/**
 * Copies the input for the server's own methods, which keep it while the dispatching handler may
 * still write into it.
 */
function dispatchedInput({ input }: InnerOrigin, { tier }: Route): Parameters | Refusal {
  if (tier === "B") return { parameters: input };
  try {
    return { parameters: structuredClone(input) };
  } catch {
    return badRequest("invalid-body", "what was dispatched has values that are no data");
  }
}

/** Takes over the body's identifiers if the header has none; both must follow the header's syntax. */
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

/** Adds a legacy verb's `action` and `idempotency_key` if the endpoint declares them.   §3.6 */
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
