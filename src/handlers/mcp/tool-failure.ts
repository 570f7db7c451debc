/** Names the `upstream_*` error of a tool call that failed; details are for the log. AGTP-API §12.3 */
import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import type { HandlerError } from "../handler.ts";
import { MessageTooLong } from "./bounded-fetch.ts";
import { Unreachable } from "./kept-connection.ts";
import { MalformedAnswer } from "./mcp-connection.ts";
import type { Secrets } from "./secrets.ts";
import { ENDED_EARLY, isEndedEarly } from "./whole-answers.ts";

const MAX_MESSAGE = 2_048;
const MALFORMED_CODES: ReadonlySet<string> = new Set([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.ListPaginationExceeded,
  SdkErrorCode.ClientHttpUnexpectedContent,
]);

/** The error that a thrown failure stands for. */
export function toolFailure(error: unknown, isAborted: boolean, secrets: Secrets): HandlerError {
  if (isAborted) {
    return { error: "upstream_timeout", message: "the upstream did not answer in time" };
  }
  const causes = causesOf(error);
  if (causes.some(isUnauthorized)) {
    const message = "the upstream refused its credentials";
    return { error: "upstream_authentication_failed", message };
  }
  const tooLong = causes.find((cause) => cause instanceof MessageTooLong);
  if (tooLong !== undefined) return { error: "upstream_error", message: tooLong.message };
  if (causes.some(isMalformed)) {
    const message = "the upstream's response is not what its protocol says";
    return { error: "upstream_malformed_response", message };
  }
  if (error instanceof Unreachable) return unreachable();
  if (error instanceof ProtocolError) {
    if (isEndedEarly(error)) return { error: "upstream_connection_error", message: ENDED_EARLY };
    const message = secrets.conceal(error.message).slice(0, MAX_MESSAGE);
    const details = { code: error.code, message };
    return { error: "upstream_error", message: "the upstream refused the call", details };
  }
  if (error instanceof SdkHttpError) {
    const { status } = error;
    return {
      error: "upstream_error",
      message: `the upstream answered ${status}`,
      details: { status },
    };
  }
  return unreachable();
}

function unreachable(): HandlerError {
  return { error: "upstream_connection_error", message: "the upstream cannot be reached" };
}

function isUnauthorized(error: unknown): boolean {
  if (error instanceof UnauthorizedError || error instanceof InsufficientScopeError) return true;
  return error instanceof SdkHttpError && (error.status === 401 || error.status === 403);
}

function isMalformed(error: unknown): boolean {
  if (error instanceof MalformedAnswer || error instanceof SyntaxError) return true;
  if (error instanceof SdkError) return MALFORMED_CODES.has(error.code);
  return error instanceof Error && error.name === "ZodError";
}

function causesOf(error: unknown): readonly unknown[] {
  const causes: unknown[] = [];
  for (let cause = error; cause !== undefined && causes.length < 8; ) {
    causes.push(cause);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes;
}
