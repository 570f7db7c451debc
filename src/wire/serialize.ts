/**
 * Messages to bytes. A head is latin1 and a body UTF-8; every message says its Content-Length, and a
 * 204 has no body and no Content-Type. Names and values of header fields are written as they are:
 * whoever takes one from outside checks it with `isFieldName` and `isFieldValue` first.
 * AGTP "Wire Format"
 */

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

interface Outgoing {
  readonly head: string;
  readonly body: string | Uint8Array;
  readonly bodyLength: number;
}

const NO_CONTENT = 204;

const STATUS_LINES: ReadonlyMap<number, string> = new Map(
  Object.entries(STATUS_TEXT).map(([status, text]) => [
    Number(status),
    `AGTP/1.0 ${status} ${text}\r\n`,
  ]),
);

/** All responses in one buffer, so that answers to pipelined requests leave in one write. */
export function serializeResponses(responses: readonly Response[]): Buffer {
  return writeMessages(responses.map(outgoingResponse));
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

function outgoingResponse(response: Response): Outgoing {
  const { status, headers } = response;
  const line = STATUS_LINES.get(status) ?? `AGTP/1.0 ${status} \r\n`;
  if (status === NO_CONTENT) {
    const lines = fieldLines(headers.filter(([name]) => name.toLowerCase() !== "content-type"));
    return { head: `${line}${lines}Content-Length: 0\r\n\r\n`, body: "", bodyLength: 0 };
  }
  const { body } = response;
  const bodyLength = Buffer.byteLength(body);
  const head = `${line}${fieldLines(headers)}Content-Length: ${bodyLength}\r\n\r\n`;
  return { head, body, bodyLength };
}

function fieldLines(headers: readonly HeaderField[]): string {
  let lines = "";
  for (const field of headers) lines += `${field[0]}: ${field[1]}\r\n`;
  return lines;
}

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
