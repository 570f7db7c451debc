/**
 * Puts the input of a request together: its body, its query and the values in its path. The body's envelope
 * may name a session and a task, too: gates 14 and 15 look at those.
 * 400 a body or query that cannot be read · 460 an undecodable path value.   AGTP-API §5.5
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

/** Fills in the input, or says why it cannot be read. */
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
  // A new one: without path and query it is the handler's own, to write into.
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
    // They are members of a member, which have a schema of their own.
    exchange.undeclared = undefined;
    return readParameters(exchange, route);
  }
  const own = isProposal(route) ? identifiersIn(envelope.parameters) : NO_IDENTIFIERS;
  const { taskId = own.taskId, sessionId = own.sessionId } = envelope;
  return adoptIdentifiers(exchange, taskId, sessionId) ?? envelope;
}

/** A proposal has its session among its own members, in an envelope or not.   AGTP "PROPOSE" */
function isProposal({ tier, method }: Route): boolean {
  return tier === "A" && method === "PROPOSE";
}

const NO_IDENTIFIERS: Identifiers = {};

/** The server keeps what its own methods are given, and the handler that dispatched it may write into it later. */
function dispatchedInput({ input }: InnerOrigin, { tier }: Route): Parameters | Refusal {
  if (tier === "B") return { parameters: input };
  try {
    return { parameters: structuredClone(input) };
  } catch {
    return badRequest("invalid-body", "what was dispatched has values that are no data");
  }
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
