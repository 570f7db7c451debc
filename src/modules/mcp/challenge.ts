/**
 * Refusals that another token may lift: HTTP says them, with what clients need to get one. Where
 * nobody gives tokens, they are refusals like others.
 * 401 nobody vouches for the caller · 403 its scopes do not reach.   RFC 6750 §3, RFC 9728 §5.1
 */

import type { FastifyReply } from "fastify";
import { recordIn, textsIn } from "../../base/json-value.ts";
import type { Answer } from "./ask.ts";
import type { Challenge, McpFront, Protection } from "./front.ts";
import { isMessageId } from "./plain-request.ts";
import { REFUSED } from "./report-fault.ts";
import { bodyText, refusalWords } from "./tools/content.ts";

/** Codes of 262 that a scope lifts. */
const SCOPE_CODES: ReadonlySet<string> = new Set(["scope-required", "scope-claim-invalid"]);

/** The challenge that a refusal is; undefined: no token would change it. */
export function challengeFor(
  protection: Protection | undefined,
  { response, exchange }: Answer,
): Challenge | undefined {
  const { status } = response;
  if (protection === undefined || ![401, 262, 455].includes(status)) return undefined;
  const { code, message, error } = refusalWords(bodyText(response));
  const isPresent = exchange.caller.principalId !== undefined;
  if (status === 401 || code === "credentials-missing") {
    const fault = code === "oauth-invalid" || isPresent ? ("invalid_token" as const) : undefined;
    return { status: 401, error: fault, message, scopes: [] };
  }
  if (status === 262 && !SCOPE_CODES.has(code)) return undefined;
  const missing = textsIn(error["missing_scopes"]);
  const scopes = missing.length > 0 ? missing : (exchange.route?.requiredScopes ?? []);
  // A client without a token is asked for one, and told which.
  if (!isPresent) return { status: 401, error: undefined, message, scopes };
  return { status: 403, error: "insufficient_scope", message, scopes };
}

/** The WWW-Authenticate field of a challenge. */
function challengeField(
  { error, message, scopes }: Challenge,
  protection: Protection | undefined,
): string {
  const metadata = protection?.metadataUrl();
  const parameters = [
    ...(error === undefined ? [] : [`error="${error}"`, `error_description="${plain(message)}"`]),
    ...(scopes.length === 0 ? [] : [`scope="${scopes.join(" ")}"`]),
    ...(metadata === undefined ? [] : [`resource_metadata="${metadata}"`]),
  ];
  return parameters.length === 0 ? "Bearer" : `Bearer ${parameters.join(", ")}`;
}

/** The characters that may stand between quotes there. */
function plain(text: string): string {
  return text.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'");
}

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
