/** Refusals of requests that have no result to say them in: each is an error of JSON-RPC. */

import type { Answer } from "./ask.ts";
import { challengeFor } from "./challenge.ts";
import type { McpRequest } from "./front.ts";
import { challenged, internalError, invalidParams, refused } from "./protocol-errors.ts";
import { bodyText, refusalWords } from "./tools/answer-body.ts";
import { answerMeta } from "./tools/answer-meta.ts";

/** Said where the record of an answer could not be kept, so that nothing may be answered. */
export const UNRECORDED = "the record of the answer could not be kept";

/** The error that a refusal is; one that a token may lift is HTTP's to say. */
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
