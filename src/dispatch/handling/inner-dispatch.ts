/**
 * A request that a handler dispatches: the message it becomes, and what its reply is to the handler
 * that asked. It carries the caller's identifiers on, never a contract and never the opt-in to
 * negotiation.   AGTP-API §10.1.2, §12.1
 */

import { channel } from "node:diagnostics_channel";
import type { DispatchResult } from "../../handlers/handler.ts";
import type { Request } from "../../wire/message.ts";
import type { Exchange } from "../exchange.ts";
import type { Reply } from "../reply.ts";
import { CHANNELS, type InnerBegin } from "../request-channels.ts";

const CARRIED_FIELDS = [
  ...["agent-id", "owner-id", "request-id", "session-id", "task-id"],
  // The inner request may be the one that was approved, as with EXECUTE.
  "escalation-id",
] as const;

const NO_BODY = new Uint8Array(0);

/** The request of an inner dispatch; its input travels beside it as a value. */
export function innerRequest(parent: Exchange, method: string, target: string): Request {
  const headers = new Map<string, string>();
  for (const name of CARRIED_FIELDS) {
    const value = parent.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  const end = target.indexOf("?");
  return {
    method,
    path: end === -1 ? target : target.slice(0, end),
    query: end === -1 ? undefined : target.slice(end + 1),
    headers,
    body: NO_BODY,
  };
}

/** A reply as the dispatching handler sees it. */
export function resultOf({ status, headers, body }: Reply): DispatchResult {
  const lowered = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  return { status, headers: Object.fromEntries(lowered), body: decodeBody(body) };
}

/** Bytes are most often a document encoded at start-up; what is no JSON stays as it is. */
function decodeBody(body: unknown): unknown {
  if (!(body instanceof Uint8Array)) return body;
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString());
  } catch {
    return body;
  }
}

const begun = channel(CHANNELS.inner);
const tellNobody = (): void => undefined;

/**
 * Answers it, and tells whoever traces: `answer` says what the reply is, once there is one. Costs
 * nothing while nobody listens.
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
