/**
 * The request line: `AGTP/1.0 METHOD` or `AGTP/1.0 METHOD TARGET`. Decides only whether the line is
 * one; whether the method exists and the path is well-formed is for gates 02 and 03. Answers with
 * `invalid-request-line`.   AGTP "Wire Format", AGTP-API §6.1
 */

import { isToken, quote } from "./header-fields.ts";
import type { WireFault } from "./message.ts";

/** The three things a request line says. */
export interface RequestLine {
  readonly kind: "request-line";
  readonly method: string;
  readonly path: string;
  readonly query: string | undefined;
}

const VERSION = "AGTP/1.0";

/** Any token, then any printable ASCII; but "#" may stand nowhere in the line. */
const REQUEST_LINE = /^AGTP\/1\.0 [!$%&'*+\-.^_`|~0-9A-Za-z]+(?: [\x21\x22\x24-\x7e]+)?$/;

/** Reads a request line without its CRLF, given as latin1. */
export function parseRequestLine(line: string): RequestLine | WireFault {
  if (!REQUEST_LINE.test(line)) return invalid(reason(line));
  const start = VERSION.length + 1;
  const space = line.indexOf(" ", start);
  if (space === -1) {
    return { kind: "request-line", method: line.slice(start), path: "/", query: undefined };
  }
  const method = line.slice(start, space);
  const mark = line.indexOf("?", space);
  if (mark === -1) {
    return { kind: "request-line", method, path: line.slice(space + 1), query: undefined };
  }
  const path = line.slice(space + 1, mark);
  return { kind: "request-line", method, path, query: line.slice(mark + 1) };
}

/** Why a line is no request line; the wording is all that is left to decide. */
function reason(line: string): string {
  if (line === "") return "the request line is empty";
  if (!/^[\x20-\x7e]*$/.test(line)) {
    return "the request line has a control or non-ASCII byte, expected printable ASCII";
  }
  if (line.includes("#")) return 'a fragment ("#") may not be sent in a request line';
  const [version = "", method, target, ...rest] = line.split(" ");
  if (version !== VERSION) return `expected ${VERSION} first, got ${quote(version)}`;
  if (method === undefined) return "the request line has no method";
  if (method === "" || rest.length > 0) {
    return "expected two or three tokens with one space between them";
  }
  if (!isToken(method)) return `method ${quote(method)} is not a token`;
  return target === "" ? "the request-target is empty" : "the request line is malformed";
}

function invalid(message: string): WireFault {
  return { kind: "wire-fault", code: "invalid-request-line", message };
}
