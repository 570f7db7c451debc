/**
 * AGTP statuses as HTTP says them: kept where HTTP has the status, and its nearest word where it has
 * not. The original travels beside it as `X-AGTP-Status`.   AGTP "HTTP Gateway"
 */

import type { FastifyReply } from "fastify";
import type { HttpAnswer } from "../../dispatch/module/http-gateway.ts";
import type { WireFaultCode } from "../../wire/message.ts";

const MAPPED: ReadonlyMap<number, number> = new Map([
  [261, 202],
  [262, 403],
  [263, 201],
  [455, 403],
  [456, 403],
  [457, 403],
  [458, 409],
  [459, 405],
  [460, 400],
  [461, 409],
  [462, 402],
  [463, 422],
  [464, 404],
  [550, 502],
  [551, 502],
]);

/** The HTTP status of a response; `code` is the `error.code` of its body. */
export function httpStatus(status: number, code?: string): number {
  if (status === 262 && code === "credentials-missing") return 401;
  return MAPPED.get(status) ?? status;
}

const FAULTS: ReadonlyMap<WireFaultCode, number> = new Map([
  ["request-line-too-long", 414],
  ["header-too-large", 431],
  ["body-too-large", 413],
  ["request-timeout", 408],
]);

/** A fault that is no AGTP request is 400 there; HTTP has words for some of it. */
export function faultStatus(code: WireFaultCode): number {
  return FAULTS.get(code) ?? 400;
}

/** Sends an answer; undefined ends the connection without one. */
export function sendAnswer(reply: FastifyReply, answer: HttpAnswer | undefined): FastifyReply {
  if (answer === undefined) {
    reply.hijack();
    reply.raw.destroy();
    return reply;
  }
  const { status, fields, body } = answer;
  reply.code(status);
  for (const [name, values] of fields) {
    const earlier = name === "vary" ? reply.getHeader(name) : undefined;
    if (typeof earlier === "string") reply.header(name, [earlier, ...values].join(", "));
    else reply.header(name, values.length === 1 ? values[0] : [...values]);
  }
  const isBodiless = status === 204 || status === 304;
  return isBodiless ? reply.send() : reply.send(typeof body === "string" ? body : viewOf(body));
}

/** A body may be the same for many, and is not copied for each. */
function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Sends a refusal of the sidecar's own, in the form of those of the protocol. */
export function sendRefusal(
  reply: FastifyReply,
  status: number,
  body: Readonly<Record<string, unknown>>,
): FastifyReply {
  return reply
    .code(status)
    .header("content-type", "application/json; charset=utf-8")
    .send(JSON.stringify(body));
}

/** The body of a refusal of the sidecar's own. */
export function errorBody(code: string, message: string): Readonly<Record<string, unknown>> {
  return { error: { code, message } };
}
