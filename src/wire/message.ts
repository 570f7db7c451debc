/**
 * The two messages of AGTP, as values and as bytes, with the statuses that this server may send.
 * The parser hands requests to the dispatcher, which returns responses; neither knows a socket.
 * AGTP "Wire Format", "Status Codes", AGTP-API §11
 */

import { Buffer } from "node:buffer";
import { flatText } from "../base/kept-text.ts";
import type { HeaderField, HeaderFields } from "./fields.ts";

export interface Request {
  /** The method as sent: any RFC 9110 token. A gate checks whether it is known. */
  readonly method: string;
  /** The request-target up to the first "?", raw; "/" for a two-token request line. */
  readonly path: string;
  /** The raw text after the first "?"; undefined without "?". */
  readonly query: string | undefined;
  readonly headers: HeaderFields;
  readonly body: Uint8Array;
  /** The body as text, if it is ASCII and no longer than 16 KiB. */
  readonly bodyText?: string | undefined;
}

/** Splits a request-target into path and query. */
export function splitTarget(target: string): Pick<Request, "path" | "query"> {
  const mark = target.indexOf("?");
  if (mark === -1) return { path: target, query: undefined };
  return { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

/** Header field lines that are only known when a response is serialized, each with its CRLF. */
export interface LateFields {
  /** False if the lines are not known yet, or never will be; the response must not be sent. */
  readonly isKnown: boolean;
  readonly lines: string;
}

export interface Response {
  readonly status: number;
  /** The id of this response in the log. */
  readonly responseId: string;
  /**
   * The header field lines as sent, each with its CRLF, without Content-Length, which the
   * serializer writes. They are one text, since every response needs it and nothing parses it
   * again.
   */
  readonly fields: string;
  /** Further lines, known only when the response is sent. */
  readonly lateFields?: LateFields | undefined;
  /** The body; a string is sent as UTF-8. Empty for 204. */
  readonly body: string | Uint8Array;
}

/**
 * Bytes that are not an AGTP message. They are answered with 400 and this code, then the connection
 * closes, because nothing after the fault can be framed.
 */
export interface WireFault {
  readonly kind: "wire-fault";
  readonly code: WireFaultCode;
  readonly message: string;
}

export type WireFaultCode =
  | "invalid-request-line"
  | "request-line-too-long"
  | "invalid-wire-format"
  | "header-too-large"
  | "invalid-framing"
  | "body-too-large"
  | "request-timeout";

/** The limits of `[limits]` that the parser enforces; all in octets but headerCount. */
export interface WireLimits {
  /** The length of the request line without its CRLF. */
  readonly requestLineBytes: number;
  /** The length of all header field lines with their CRLFs, without the empty line. */
  readonly headerBytes: number;
  readonly headerCount: number;
  readonly bodyBytes: number;
}

/**
 * Every status that this server may send, with its text, which is informational on the wire. The
 * only list of status numbers and texts.
 */
export const STATUS_TEXT = {
  200: "OK",
  202: "Accepted",
  204: "No Content",
  261: "Negotiation In Progress",
  262: "Authorization Required",
  263: "Proposal Approved",
  301: "Moved Permanently",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Timeout",
  409: "Conflict",
  410: "Gone",
  422: "Unprocessable Entity",
  429: "Too Many Requests",
  455: "Scope Violation",
  456: "Budget Exceeded",
  457: "Zone Violation",
  458: "Counterparty Unverified",
  459: "Method Violation",
  460: "Endpoint Violation",
  461: "RCNS Contract Available",
  462: "Insufficient Budget",
  463: "Proposal Rejected",
  464: "RCNS No Contract",
  500: "Server Error",
  501: "Not Implemented",
  503: "Unavailable",
  550: "Delegation Failure",
  551: "Authority Chain Broken",
} as const;

export type Status = keyof typeof STATUS_TEXT;

/** A table with 1 for each status, which is faster than a lookup by member name. */
const IS_STATUS = new Uint8Array(600);
for (const status of Object.keys(STATUS_TEXT)) IS_STATUS[Number(status)] = 1;

/** Tells whether a number is a status this server knows. */
export function isStatus(value: number): value is Status {
  return IS_STATUS[value] === 1;
}

/** Tells whether a status means that the call did what it was asked to; 262 is a refusal, 261 is pending. */
export function isSuccess(status: number): boolean {
  return status === 200 || status === 202 || status === 204 || status === 263;
}

/** Tells whether a status means that something was done or is running; 262 asks for authority first. */
export function isDone(status: number): boolean {
  return status < 300 && status !== 262;
}

/** Tells whether a status is AGTP's own; these are operational signals and always logged. */
export function isAgtpSpecific(status: number): boolean {
  return (status >= 261 && status <= 263) || (status >= 455 && status <= 464) || status >= 550;
}

/** A request as a client writes it, always with three tokens and a Content-Length. */
export interface OutgoingRequest {
  readonly method: string;
  readonly path: string;
  /** The query, without the "?". */
  readonly query?: string | undefined;
  /** The header fields, without Content-Length. */
  readonly headers: readonly HeaderField[];
  readonly body: string | Uint8Array;
}

const NO_CONTENT = 204;

/**
 * The length up to which a stream writes a text without allocating a buffer, which would cost more
 * than the rest of serializing a small reply.
 */
const MAX_TEXT_LENGTH = 16 * 1024;

const STATUS_LINES: ReadonlyMap<number, string> = new Map(
  Object.entries(STATUS_TEXT).map(([status, text]) => [
    Number(status),
    flatText(`AGTP/1.0 ${status} ${text}\r\n`),
  ]),
);

/**
 * Serializes responses in one piece, so that answers to pipelined requests are written at once. A
 * text is to be written as latin1; it is returned for a small batch with ASCII bodies only.
 */
export function serializeResponses(
  responses: readonly Response[],
  allocate: Allocate = Buffer.allocUnsafe,
): string | Buffer {
  const text = asciiText(responses);
  if (text === undefined) return writeMessages(responses.map(outgoingResponse), allocate);
  if (text.length <= MAX_TEXT_LENGTH) return text;
  const bytes = allocate(text.length);
  bytes.write(text, 0, "latin1");
  return bytes;
}

/** Returns the batch as text; undefined if a body is not ASCII, which is checked once for all. */
function asciiText(responses: readonly Response[]): string | undefined {
  let text = "";
  // Bodies are joined separately, since heads are always latin1: scanning their records took a
  // sixtieth of a request.
  let bodies = "";
  for (const response of responses) {
    const { body } = response;
    if (typeof body !== "string") return undefined;
    const isEmpty = response.status === NO_CONTENT;
    text += responseHead(response, isEmpty ? 0 : body.length);
    if (isEmpty) continue;
    text += body;
    bodies += body;
  }
  return Buffer.byteLength(bodies) === bodies.length ? text : undefined;
}

/** Allocates a buffer of uninitialized octets. */
type Allocate = (octets: number) => Buffer;

/** Serializes the head of a response as latin1; its body is sent separately. */
export function serializeHead(response: Response): string {
  return responseHead(response, Buffer.byteLength(response.body));
}

/** Serializes a request into one buffer. */
export function serializeRequest(request: OutgoingRequest): Buffer {
  const { method, path, query, headers, body } = request;
  const target = query === undefined ? path : `${path}?${query}`;
  const bodyLength = Buffer.byteLength(body);
  const head = `AGTP/1.0 ${method} ${target}\r\n${fieldLines(headers)}`;
  return writeMessages(
    [{ head: `${head}Content-Length: ${bodyLength}\r\n\r\n`, body, bodyLength }],
    Buffer.allocUnsafe,
  );
}

/**
 * Formats header field lines. Names and values are written as they are, so those from outside must
 * be checked with `isToken` and `isFieldValue` first.
 */
export function fieldLines(fields: Iterable<HeaderField>): string {
  let lines = "";
  for (const [name, value] of fields) lines += `${name}: ${value}\r\n`;
  return lines;
}

interface Outgoing {
  readonly head: string;
  readonly body: string | Uint8Array;
  readonly bodyLength: number;
}

function outgoingResponse(response: Response): Outgoing {
  const body = response.status === NO_CONTENT ? "" : response.body;
  const bodyLength = Buffer.byteLength(body);
  return { head: responseHead(response, bodyLength), body, bodyLength };
}

/** Tells whether a message can be written as latin1. */
function isText(message: Outgoing): message is Outgoing & { readonly body: string } {
  return typeof message.body === "string" && message.body.length === message.bodyLength;
}

function responseHead({ status, fields, lateFields }: Response, bodyLength: number): string {
  const line = STATUS_LINES.get(status) ?? `AGTP/1.0 ${status} \r\n`;
  const late = lateFields === undefined ? "" : lateFields.lines;
  return `${line}${fields}${late}${CONTENT_LENGTHS[bodyLength] ?? contentLength(bodyLength)}`;
}

/** Returns the end of a head. */
function contentLength(bodyLength: number): string {
  return `Content-Length: ${bodyLength}\r\n\r\n`;
}

/** Cached, since most bodies are short and a head is written piece by piece. */
const CONTENT_LENGTHS: readonly string[] = Array.from({ length: 512 }, (_, bodyLength) =>
  flatText(contentLength(bodyLength)),
);

/** Allocates once; a head and its ASCII body are written as one string. */
function writeMessages(messages: readonly Outgoing[], allocate: Allocate): Buffer {
  let length = 0;
  for (const message of messages) length += message.head.length + message.bodyLength;
  const bytes = allocate(length);
  let at = 0;
  for (const message of messages) {
    const { head, body, bodyLength } = message;
    if (isText(message)) {
      at += bytes.write(head + message.body, at, "latin1");
      continue;
    }
    at += bytes.write(head, at, "latin1");
    if (typeof body === "string") bytes.write(body, at, "utf8");
    else bytes.set(body, at);
    at += bodyLength;
  }
  return bytes;
}
