/**
 * Messages to bytes. A head is latin1 and a body UTF-8; every message says its Content-Length, and a
 * 204 has no body. Names and values of header fields are written as they are:
 * whoever takes one from outside checks it with `isFieldName` and `isFieldValue` first.
 * AGTP "Wire Format"
 */

import { flatText } from "../base/flat-text.ts";
import type { HeaderField, Response } from "./message.ts";
import { STATUS_TEXT } from "./status.ts";

/** A request as a client writes it: always three tokens and a Content-Length. */
export interface OutgoingRequest {
  readonly method: string;
  readonly path: string;
  /** Without the "?". */
  readonly query?: string | undefined;
  /** Without Content-Length. */
  readonly headers: readonly HeaderField[];
  readonly body: string | Uint8Array;
}

const NO_CONTENT = 204;

/**
 * Up to so much, a stream writes a text without a buffer being made of it first, which for a small
 * reply would cost more than the rest of serializing it.
 */
const MAX_TEXT_LENGTH = 16 * 1024;

const STATUS_LINES: ReadonlyMap<number, string> = new Map(
  Object.entries(STATUS_TEXT).map(([status, text]) => [
    Number(status),
    flatText(`AGTP/1.0 ${status} ${text}\r\n`),
  ]),
);

/**
 * All responses in one piece, so that answers to pipelined requests leave in one write. A text is
 * to be written as latin1: it stands for a batch that is small and has ASCII bodies only.
 */
export function serializeResponses(responses: readonly Response[]): string | Buffer {
  let text = "";
  for (const response of responses) {
    const body = response.status === NO_CONTENT ? "" : response.body;
    const bodyLength = Buffer.byteLength(body);
    if (typeof body !== "string" || body.length !== bodyLength) {
      return writeMessages(responses.map(outgoingResponse));
    }
    text += responseHead(response, bodyLength) + body;
  }
  return text.length <= MAX_TEXT_LENGTH ? text : Buffer.from(text, "latin1");
}

/** The head of a response, as latin1; its body is sent apart. */
export function serializeHead(response: Response): string {
  return responseHead(response, Buffer.byteLength(response.body));
}

/** One request in one buffer. */
export function serializeRequest(request: OutgoingRequest): Buffer {
  const { method, path, query, headers, body } = request;
  const target = query === undefined ? path : `${path}?${query}`;
  const bodyLength = Buffer.byteLength(body);
  const head = `AGTP/1.0 ${method} ${target}\r\n${fieldLines(headers)}`;
  return writeMessages([
    { head: `${head}Content-Length: ${bodyLength}\r\n\r\n`, body, bodyLength },
  ]);
}

/** Header fields as they stand in a head, each on its line. */
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

function responseHead({ status, fields, lateFields }: Response, bodyLength: number): string {
  const line = STATUS_LINES.get(status) ?? `AGTP/1.0 ${status} \r\n`;
  const late = lateFields === undefined ? "" : lateFields.lines;
  return `${line}${fields}${late}${CONTENT_LENGTHS[bodyLength] ?? contentLength(bodyLength)}`;
}

/** The end of a head. */
function contentLength(bodyLength: number): string {
  return `Content-Length: ${bodyLength}\r\n\r\n`;
}

/** Most bodies are short, and a head is written piece by piece. */
const CONTENT_LENGTHS: readonly string[] = Array.from({ length: 512 }, (_, bodyLength) =>
  flatText(contentLength(bodyLength)),
);

/** One allocation; heads and ASCII bodies that follow each other are written as one string. */
function writeMessages(messages: readonly Outgoing[]): Buffer {
  let length = 0;
  for (const message of messages) length += message.head.length + message.bodyLength;
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  let run = "";
  for (const { head, body, bodyLength } of messages) {
    run += head;
    if (typeof body === "string" && body.length === bodyLength) {
      run += body;
      continue;
    }
    at += bytes.write(run, at, "latin1");
    run = "";
    if (typeof body === "string") bytes.write(body, at, "utf8");
    else bytes.set(body, at);
    at += bodyLength;
  }
  bytes.write(run, at, "latin1");
  return bytes;
}
