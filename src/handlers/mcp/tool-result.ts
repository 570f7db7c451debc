/**
 * Translates a tool's result into a body for the caller, and its failure into a named error;
 * details of failures go to the log.   AGTP-API §12.3
 */
import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { hasLostNumbers, readMarked, rewriteExactly } from "../../base/exact-numbers.ts";
import { isRecord, type JsonRecord, parseRecord, recordIn } from "../../base/json-value.ts";
import { shareEncoded } from "../../base/kept-text.ts";
import { isTooDeep } from "../../base/nesting.ts";
import type { HandlerError, HandlerResult } from "../handler.ts";
import { brokenOff, unreachable } from "../upstream-response.ts";
import { isTooLong, MessageCompressed, NeverSent } from "./bounded-fetch.ts";
import { ENDED_EARLY, isEndedEarly } from "./call-streams.ts";
import { isUnreadable } from "./exact-results.ts";
import { Unreachable } from "./kept-connection.ts";
import { MalformedAnswer } from "./mcp-connection.ts";
import type { Secrets } from "./read-settings.ts";

/** How an endpoint reads its tool's results. */
export interface ResultOptions {
  /** The declared error that `isError` maps to. */
  readonly toolError: string;
  /** True if a text that contains a JSON object becomes the body. */
  readonly isObjectWanted: boolean;
  readonly secrets: Secrets;
}

/** A deeper body would overflow the stack of later walks, which would be our fault. */
const MAX_DEPTH = 512;
const MAX_MESSAGE = 2_048;

/** Reads the result of a call; `answered` is MCP's. */
export function readToolResult(answered: JsonRecord, options: ResultOptions): HandlerResult {
  if (isTooDeep(answered, MAX_DEPTH)) {
    return malformed(`is nested deeper than ${MAX_DEPTH} levels`);
  }
  const result = options.secrets.concealIn(answered);
  const { content, structuredContent, isError } = result;
  if (isError === true) return toolError(content, options);
  if (structuredContent !== undefined) return { body: readMarked(structuredContent) };
  if (!Array.isArray(content)) return malformed("has no content");
  const parsed = options.isObjectWanted ? onlyObjectOf(content) : undefined;
  return { body: parsed ?? { content } };
}

/** The text of an answer's parts, up to a maximum length. */
function boundedText(content: unknown): string {
  const parts = Array.isArray(content) ? content : [];
  const texts = parts.flatMap((part) => {
    const text = recordIn(part)["text"];
    return typeof text === "string" ? [text.slice(0, MAX_MESSAGE)] : [];
  });
  return texts.join("\n").slice(0, MAX_MESSAGE);
}

function toolError(content: unknown, options: ResultOptions): HandlerError {
  const message = boundedText(content);
  return {
    error: options.toolError,
    message: "the tool answered with an error",
    details: { message },
  };
}

function onlyObjectOf(content: readonly unknown[]): JsonRecord | undefined {
  const [part, ...others] = content;
  const text = isRecord(part) && part["type"] === "text" ? part["text"] : undefined;
  if (others.length > 0 || typeof text !== "string") return undefined;
  const value = parseRecord(text);
  if (value === undefined || isTooDeep(value, MAX_DEPTH)) return undefined;
  const octets = Buffer.from(text);
  if (!hasLostNumbers(octets, value)) return value;
  // The caller gets the numbers as the tool wrote them.
  return shareEncoded(
    value,
    rewriteExactly(octets, (exact) => exact),
  );
}

function malformed(fault: string): HandlerError {
  const message = `the upstream's response ${fault}`;
  return { error: "upstream_malformed_response", message };
}

const MALFORMED_CODES: ReadonlySet<string> = new Set([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.ListPaginationExceeded,
  SdkErrorCode.ClientHttpUnexpectedContent,
]);

/** The named error of a thrown failure. */
export function toolFailure(error: unknown, isAborted: boolean, secrets: Secrets): HandlerError {
  if (isAborted) {
    return { error: "upstream_timeout", message: "the upstream did not answer in time" };
  }
  const causes = causesOf(error);
  if (causes.some(isUnauthorized)) {
    const message = "the upstream refused its credentials";
    return { error: "upstream_authentication_failed", message };
  }
  const tooLong = causes.find(isTooLong);
  if (tooLong !== undefined) return { error: "upstream_error", message: tooLong.message };
  if (causes.some(isMalformed)) {
    const message = "the upstream's response is not what its protocol says";
    return { error: "upstream_malformed_response", message };
  }
  if (error instanceof Unreachable) return unreachable();
  if (error instanceof ProtocolError) {
    if (isEndedEarly(error)) return brokenOff(ENDED_EARLY);
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
  return causes.some(isNeverSent) ? unreachable() : brokenOff();
}

function isNeverSent(error: unknown): boolean {
  if (error instanceof NeverSent) return true;
  return error instanceof SdkError && error.code === SdkErrorCode.NotConnected;
}

function isUnauthorized(error: unknown): boolean {
  if (error instanceof UnauthorizedError || error instanceof InsufficientScopeError) return true;
  return error instanceof SdkHttpError && (error.status === 401 || error.status === 403);
}

function isMalformed(error: unknown): boolean {
  if (error instanceof MalformedAnswer || error instanceof SyntaxError) return true;
  if (error instanceof MessageCompressed) return true;
  if (error instanceof ProtocolError && isUnreadable(error)) return true;
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
