/**
 * Translates an external service's answer into a body for the caller or a named error. An error
 * reveals the upstream's status and nothing else of its answer.   AGTP-API §12.3, Table 8
 */
import type { Dispatcher } from "undici";
import { hasLostNumbers, rewriteExactly } from "../base/exact-numbers.ts";
import { ANSWER_BOUNDS, jsonExcess } from "../base/json-bounds.ts";
import { isRecord, isStructure, parseJson } from "../base/json-value.ts";
import { shareEncoded } from "../base/kept-text.ts";
import { isTooDeep } from "../base/nesting.ts";
import { codeOf } from "../base/thrown.ts";
import { decodeUtf8, withoutMark } from "../base/utf8.ts";
import type { ExternalServiceBinding } from "../endpoint/endpoint.ts";
import { isList, PLAIN_ENCODING } from "../endpoint/upstream-format.ts";
import { discardBody, readBoundedBody } from "./connection-options.ts";
import type { HandlerError, HandlerResult } from "./handler.ts";
import { renameKeys } from "./upstream-request.ts";
import { joinTexts, readEvents } from "./upstream-sequence.ts";

/** Compiles a binding into a function from its upstream's response to a result. */
export function compileUpstreamResponse(
  binding: ExternalServiceBinding,
): (response: Dispatcher.ResponseData) => Promise<HandlerResult> {
  const errors = new Map(Object.entries(binding.errorMap));
  const names = new Map(
    Object.entries(binding.outputTransform).map(([ours, theirs]) => [theirs, ours]),
  );
  return async (response) => {
    const status = response.statusCode;
    // Why: a stream that fails after it was abandoned must not crash the process.
    response.body.on("error", () => {});
    const error = errors.get(String(status)) ?? errorOfStatus(status);
    if (error !== undefined) {
      discardBody(response);
      return { error, message: `the upstream answered ${status}`, details: { status } };
    }
    return readResult(response, binding, names);
  };
}

function errorOfStatus(status: number): string | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status === 401 || status === 403) return "upstream_authentication_failed";
  return "upstream_error";
}

async function readResult(
  response: Dispatcher.ResponseData,
  { method, maxResponseBytes, encoding: written = PLAIN_ENCODING }: ExternalServiceBinding,
  names: ReadonlyMap<string, string>,
): Promise<HandlerResult> {
  if (method === "HEAD") {
    discardBody(response);
    return { body: {} };
  }
  const encoding = response.headers["content-encoding"] ?? "identity";
  if (String(encoding).toLowerCase() !== "identity") {
    response.body.destroy();
    return malformed(response, "is compressed, though identity was asked for");
  }
  const bytes = await readBoundedBody(maxResponseBytes, response);
  if (bytes === undefined) {
    const details = { status: response.statusCode };
    const message = `the upstream's response is longer than ${maxResponseBytes} bytes`;
    return { error: "upstream_error", message, details };
  }
  if (bytes.length === 0) return { body: isList(written.responseFormat) ? [] : {} };
  const mediaType = String(response.headers["content-type"] ?? "application/octet-stream");
  switch (written.responseFormat) {
    case "binary":
      return { body: { base64: bytes.toString("base64"), media_type: mediaType } };
    case "text": {
      const charset = charsetOf(mediaType);
      const text = decodeText(bytes, charset);
      return text === undefined
        ? malformed(response, charset === undefined ? "is not UTF-8" : "is no text of its charset")
        : { body: { text, media_type: mediaType } };
    }
    case "json":
      return readJson(withoutMark(bytes), names, (fault) => malformed(response, fault));
    case "json_lines": {
      const { list, fault } = joinTexts(withoutMark(bytes));
      return list === undefined
        ? malformed(response, fault)
        : readJson(list, names, (excess) => malformed(response, excess));
    }
    case "events": {
      const text = decodeUtf8(bytes);
      if (text === undefined) return malformed(response, "is not UTF-8");
      const { list, fault } = readEvents(text);
      return list === undefined ? malformed(response, fault) : { body: renameOutput(list, names) };
    }
  }
}

/** The names of UTF-8, and of ASCII, its subset. */
const UTF_8_NAMES: ReadonlySet<string> = new Set(["utf-8", "utf8", "us-ascii", "ascii"]);

/** The charset of a text, in lower case; undefined for UTF-8.   RFC 9110 §8.3.2 */
function charsetOf(mediaType: string): string | undefined {
  const name = /;\s*charset="?([^\s";]+)/i.exec(mediaType)?.[1]?.toLowerCase();
  return name === undefined || UTF_8_NAMES.has(name) ? undefined : name;
}

/** Decodes a text; undefined if it is invalid, or the charset unknown. */
function decodeText(octets: Buffer, charset: string | undefined): string | undefined {
  if (charset === undefined) return decodeUtf8(octets);
  try {
    return new TextDecoder(charset, { fatal: true }).decode(octets);
  } catch {
    return undefined;
  }
}

function readJson(
  bytes: Buffer,
  names: ReadonlyMap<string, string>,
  fail: (fault: string) => HandlerError,
): HandlerResult {
  const excess = jsonExcess(bytes, ANSWER_BOUNDS);
  if (excess !== undefined) return fail(excess);
  const text = decodeUtf8(bytes);
  const value = text === undefined ? undefined : parseJson(text);
  if (value === undefined) return fail("is not JSON");
  // A deeper body would overflow the stack of later walks, which would be our fault.
  if (isTooDeep(value, ANSWER_BOUNDS.depth)) {
    return fail(`is nested deeper than ${ANSWER_BOUNDS.depth} levels`);
  }
  const body = renameOutput(value, names);
  if (!isStructure(body) || !hasLostNumbers(bytes, body)) return { body };
  // The caller gets the numbers as the upstream wrote them.
  return {
    body: shareEncoded(
      body,
      rewriteExactly(bytes, (exact) => renameOutput(exact, names)),
    ),
  };
}

function malformed(response: Dispatcher.ResponseData, fault: string): HandlerError {
  return {
    error: "upstream_malformed_response",
    message: `the upstream's response ${fault}`,
    details: { status: response.statusCode },
  };
}

function renameOutput(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (names.size === 0) return value;
  if (Array.isArray(value)) {
    return value.map((item) => (isRecord(item) ? renameKeys(item, names) : item));
  }
  return isRecord(value) ? renameKeys(value, names) : value;
}

const TIMEOUT_CODES: ReadonlySet<string> = new Set([
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/** Error codes of answers that are not HTTP; errors of undici's parser have no code. */
const NOT_HTTP_CODES: ReadonlySet<string> = new Set([
  "UND_ERR_HEADERS_OVERFLOW",
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
]);

/** How far a failed call had come. */
interface FailedCall {
  readonly isAborted: boolean;
  /** True if a connection had taken the request. */
  readonly isSent: boolean;
}

/**
 * Maps a failed upstream call to its `upstream_*` error. The system's own error text is for the
 * log.   AGTP-API §12.3, Table 8
 */
export function upstreamFailure(error: unknown, { isAborted, isSent }: FailedCall): HandlerError {
  const code = codeOf(error);
  // If the caller has left, nobody reads the answer; it only has to be valid.
  if (isAborted || TIMEOUT_CODES.has(code)) {
    return { error: "upstream_timeout", message: "the upstream did not answer in time" };
  }
  // A request that undici rejects is our fault, not the upstream's.
  if (code === "UND_ERR_INVALID_ARG") throw error;
  if (NOT_HTTP_CODES.has(code) || (error instanceof Error && error.name === "HTTPParserError")) {
    const message = "the upstream's response is not HTTP";
    return { error: "upstream_malformed_response", message };
  }
  return isSent ? brokenOff() : unreachable();
}

/** The error of a call that never reached the upstream. */
export function unreachable(): HandlerError {
  const message = "the upstream cannot be reached";
  return { error: "upstream_connection_error", message, details: { sent: false } };
}

/** The error of a call that the upstream may have executed. */
export function brokenOff(message: string = BROKEN_OFF): HandlerError {
  return { error: "upstream_connection_error", message, details: { sent: true } };
}

const BROKEN_OFF =
  "the connection broke after the request was sent: the upstream may have done what it asks";
