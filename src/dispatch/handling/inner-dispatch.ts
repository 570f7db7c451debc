/**
 * Inner dispatches: the request that a handler's dispatch becomes, and the result that the handler
 * gets. It carries the caller's identifiers, but never a contract nor the opt-in to negotiation.
 * AGTP-API §10.1.2, §12.1
 */

import { channel } from "node:diagnostics_channel";
import { noteSource, sharedEncoding } from "../../base/kept-text.ts";
import type { DispatchResult } from "../../handlers/handler.ts";
import { type Request, splitTarget } from "../../wire/message.ts";
import { Exchange, type InnerOrigin } from "../exchange.ts";
import { isLasting } from "../idempotency/idempotent-reply.ts";
import { CHANNELS, type InnerBegin } from "../observer.ts";
import { isJsonType, type Reply } from "../reply.ts";
import type { Route } from "../routes/route.ts";

const CARRIED_FIELDS = [
  ...["agent-id", "owner-id", "request-id", "session-id", "task-id"],
  // The inner request stays in the zone of its caller.
  "agtp-zone-id",
  // The inner request may be the one that was approved, as with EXECUTE.
  "escalation-id",
] as const;

const NO_BODY = new Uint8Array(0);

/** The maximum depth of nested dispatches. */
const MAX_DISPATCH_DEPTH = 16;

/**
 * Creates the exchange of an inner dispatch; its input stays a value, beside the request.
 * @throws if dispatches nest too deeply
 */
export function innerExchange(
  parent: Exchange,
  [method, target]: readonly [method: string, target: string],
  input: InnerOrigin["input"],
): Exchange {
  const request = innerRequest(parent, method, target);
  const inner = new Exchange(request, parent.peer, performance.now(), { parent, input });
  if (inner.depth <= MAX_DISPATCH_DEPTH) return inner;
  throw new Error(`dispatched more than ${MAX_DISPATCH_DEPTH} deep at ${method} ${target}`);
}

function innerRequest(parent: Exchange, method: string, target: string): Request {
  const headers = new Map<string, string>();
  for (const name of CARRIED_FIELDS) {
    const value = parent.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  return { method, ...splitTarget(target), headers, body: NO_BODY };
}

/** Returns a reply as the dispatching handler gets it. */
export function resultOf(reply: Reply, route: Route | undefined): DispatchResult {
  const { status, headers = {} } = reply;
  const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { status, headers: Object.fromEntries(lowered), body: bodyFor(reply, route) };
}

/**
 * Returns a body that the handler may write into. The server's own bodies share its tables and are
 * copied, and so are those with a shared encoding, which would be sent despite any change. Other
 * bodies of the operator's handlers are shared.
 */
function bodyFor({ body, text, refusal, contentType }: Reply, route: Route | undefined): unknown {
  if (body instanceof Uint8Array) return decodeBody(body, contentType);
  if (refusal !== undefined && text !== undefined) return JSON.parse(text);
  if (route?.tier !== "B") return structuredClone(body);
  const json = typeof body === "object" && body !== null ? sharedEncoding(body) : undefined;
  return json === undefined ? body : noteSource(structuredClone(body as object), json);
}

/** Decodes bytes, mostly a document encoded at start-up; anything but JSON and text stays as it is. */
function decodeBody(body: Uint8Array, contentType: string): unknown {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  const isText = /^text\//i.test(contentType) && !isJsonType(contentType);
  if (isText) return text;
  try {
    return JSON.parse(text);
  } catch {
    return body;
  }
}

/** Tells whether an inner dispatch may have changed something. */
export function mayHaveActed({ route }: Exchange, reply: Reply): boolean {
  return route?.isReading !== true && (reply.refusal === undefined || isLasting(reply));
}

const begun = channel(CHANNELS.inner);
const tellNobody = (): void => undefined;

/**
 * Answers an inner dispatch and notifies the channel's subscribers; `answer` reports the reply.
 * Costs nothing without subscribers.
 */
export function tellingOfInner<T>(
  exchange: Exchange,
  answer: (told: (reply: Reply) => void) => T,
): T {
  if (!begun.hasSubscribers) return answer(tellNobody);
  const message: InnerBegin = { exchange, onEnd: undefined };
  begun.publish(message);
  const { onEnd } = message;
  return answer(onEnd === undefined ? tellNobody : ({ status, refusal }) => onEnd(status, refusal));
}
