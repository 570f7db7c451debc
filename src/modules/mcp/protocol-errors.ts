/** JSON-RPC errors in MCP.   MCP "Error Handling" */
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { JsonRecord } from "../../base/json-value.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import type { Answer } from "./ask.ts";
import type { Challenge, McpRequest } from "./front.ts";
import { challengeFor } from "./identify.ts";
import { REFUSED } from "./report-fault.ts";
import { answerMeta } from "./tools/answer-meta.ts";
import { bodyText, refusalWords } from "./tools/content.ts";

/** The error for malformed parameters. */
export function invalidParams(message: string, data?: JsonRecord): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, data);
}

/** A fault of this server that is logged already; its message may go to a client. */
export class ReportedFault extends ProtocolError {}

/** -32603; `data` has the id of the fault. */
export function internalError(message: string, data: JsonRecord): ReportedFault {
  return new ReportedFault(ProtocolErrorCode.InternalError, message, data);
}

/** Ends a request that is answered by an HTTP challenge. */
export function challenged({ message }: Challenge): ProtocolError {
  return new ProtocolError(REFUSED, message);
}

/** The error for a refusal, if the method has no result for it. */
export function refused(message: string, data: JsonRecord): ProtocolError {
  return new ProtocolError(REFUSED, message, data);
}

/** The error for a refused stored result, which took these scopes; scopes that a token may have become a challenge. */
export function refuseKept(
  request: McpRequest,
  { code, message, carried = {} }: Refusal,
  scopes: readonly string[],
): ProtocolError {
  if (request.front.protection === undefined || !("missing_scopes" in carried)) {
    return refused(message, { code, ...carried });
  }
  const isPresent = request.caller.fields.has("authorization");
  const status = isPresent ? 403 : 401;
  const error = isPresent ? "insufficient_scope" : undefined;
  request.challenge = { status, error, message, scopes };
  return challenged(request.challenge);
}

/** The message if the record could not be stored, so that nothing may be answered. */
export const UNRECORDED = "the record of the answer could not be kept";

/** Converts a refusal to an error; one that another token may lift becomes a challenge. */
export function refuseRequest(request: McpRequest, answer: Answer | undefined): Error {
  if (answer === undefined) return internalError(UNRECORDED, {});
  const { protection, serverId } = request.front;
  const challenge = challengeFor(protection, answer);
  if (challenge !== undefined) {
    request.challenge = challenge;
    return challenged(challenge);
  }
  const { message, error } = refusalWords(bodyText(answer.response));
  const data = { ...error, ...answerMeta(answer, serverId, {}) };
  const { status } = answer.response;
  if (status === 422) return invalidParams(message, data);
  return status === 500 ? internalError(message, data) : refused(message, data);
}
