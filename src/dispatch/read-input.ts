/**
 * Puts the input of a request together: its body, its query and the values in its path. The body's envelope
 * may name a session and a task, too: gates 14 and 15 look at those.
 * 400 a body or query that cannot be read · 460 an undecodable path value.   AGTP-API §5.5
 */
import { isJsonType } from "../base/media-type.ts";
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
import { MAX_REPLACED_OCTETS, UndeclaredMembers } from "../endpoint/undeclared-members.ts";
import { isOpaqueId } from "../identity/identifiers.ts";
import type { Peer } from "./caller/peer.ts";
import type { Exchange, InnerOrigin } from "./exchange.ts";
import { badRequest, endpointViolation, type Refusal, sameForAll } from "./refusals/refusal.ts";
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

/**
 * So many requests of a connection are looked at after it was refused something which a handler never saw: before they
 * are parsed, because what V8 keeps of them, or throws, costs more than the request. Nobody else's
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
export function watchPeer({ inner, peer, input, undeclared }: Exchange, { shape }: Route): void {
  if (inner !== undefined) return;
  const name = undeclared === undefined ? shape.declared?.firstBeyond(input) : undeclared.first;
  if (name === undefined) return;
  const mark = markOf(name);
  if (mark === peer.lastUndeclared) return;
  peer.lastUndeclared = mark;
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
export function undeclaredMembers(
  { inner, peer, request }: Exchange,
  { shape, deepMembers }: Route,
): UndeclaredMembers | undefined {
  if (peer.watched === undefined || inner !== undefined) return undefined;
  peer.watched = peer.watched > 1 ? peer.watched - 1 : undefined;
  if (request.body.length > MAX_REPLACED_OCTETS || deepMembers !== undefined) return undefined;
  return shape.declared && new UndeclaredMembers(shape.declared, request.query !== undefined);
}
