/** An answer, written with Fastify: its fields beside those that every response has already. */
import type { FastifyReply } from "fastify";
import type { HttpAnswer } from "../../dispatch/module/http-gateway.ts";

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
