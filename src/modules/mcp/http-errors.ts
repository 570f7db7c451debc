/** Errors of JSON-RPC that HTTP has a status for.   MCP "Streamable HTTP", RFC 6750 §3 */
import type { FastifyReply } from "fastify";
import { recordIn } from "../../base/json-value.ts";
import { challengeField } from "./challenge.ts";
import type { Challenge, McpFront } from "./front.ts";
import { isMessageId } from "./plain-request.ts";
import { REFUSED } from "./report-fault.ts";

/** Asks for a token, or for another one. */
export function sendChallenge(
  reply: FastifyReply,
  challenge: Challenge,
  { protection }: McpFront,
): FastifyReply {
  reply.header("www-authenticate", challengeField(challenge, protection));
  return sendError(reply, challenge.status, REFUSED, challenge.message);
}

/** 500: the client learns the id of the fault. */
export function sendFault(
  reply: FastifyReply,
  error: Error,
  { reportFault }: McpFront,
  body: unknown,
): FastifyReply {
  const id = recordIn(body)["id"];
  const { code, message, data } = reportFault(error, id ?? null);
  const told = { jsonrpc: "2.0", error: { code, message, data }, id: isMessageId(id) ? id : null };
  return reply.code(500).header("content-type", "application/json").send(JSON.stringify(told));
}

/** Answers where no message was understood. */
export function sendError(
  reply: FastifyReply,
  status: number,
  code: number,
  message: string,
): FastifyReply {
  return reply
    .code(status)
    .header("content-type", "application/json")
    .send(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null }));
}
