/**
 * Bytes of a connection to responses, for clients. Unknown statuses, any text and repeated fields
 * are taken as they come; what cannot be framed is a fault.   AGTP "Wire Format"
 */

import { quote } from "./header-fields.ts";
import type { HeaderFields, ResponseLimits, WireFault } from "./message.ts";
import { MessageParser, type MessageRules, type ParserPhase } from "./message-parser.ts";

/** A response as a client reads it. */
export interface ReceivedResponse {
  readonly status: number;
  /** Informational: nothing may be decided by it. */
  readonly statusText: string;
  readonly headers: HeaderFields;
  readonly body: Uint8Array;
}

/** Generous, since an Attribution-Record alone may take kilobytes; but not without end. */
export const DEFAULT_RESPONSE_LIMITS: ResponseLimits = {
  headBytes: 256 * 1024,
  bodyBytes: 64 * 1024 * 1024,
};

const HEADER_COUNT = 1024;

const RESPONSE_RULES: MessageRules<StatusLine> = {
  startLine: {
    name: "status line",
    invalid: "invalid-wire-format",
    tooLong: "header-too-large",
    parse: parseStatusLine,
  },
  singletons: new Set(),
};

/** One a connection. After a fault nothing more is read. */
export class ResponseParser {
  readonly #parser: MessageParser<StatusLine>;

  constructor(limits: ResponseLimits = DEFAULT_RESPONSE_LIMITS) {
    this.#parser = new MessageParser(RESPONSE_RULES, {
      requestLineBytes: limits.headBytes,
      headerBytes: limits.headBytes,
      headerCount: HEADER_COUNT,
      bodyBytes: limits.bodyBytes,
    });
  }

  /** "idle" when no octet of a next response is held. */
  get phase(): ParserPhase {
    return this.#parser.phase;
  }

  /** Takes a chunk over, without copying it when a response lies in it whole. */
  push(chunk: Buffer): void {
    this.#parser.push(chunk);
  }

  /** The next complete response, a fault once, or undefined when more octets are needed. */
  next(): ReceivedResponse | WireFault | undefined {
    const message = this.#parser.next();
    if (message === undefined || message.kind === "wire-fault") return message;
    const { start, headers, body } = message;
    return { status: start.status, statusText: start.statusText, headers, body };
  }

  /** The peer will send no more: a fault if it stopped within a response. */
  end(): WireFault | undefined {
    return this.#parser.end();
  }
}

/** The two things a status line says. */
interface StatusLine {
  readonly kind: "status-line";
  readonly status: number;
  readonly statusText: string;
}

const STATUS_LINE = /^AGTP\/1\.0 ([1-9][0-9][0-9])(?: (.*))?$/;

/** Reads a status line without its CRLF, given as latin1. */
function parseStatusLine(line: string): StatusLine | WireFault {
  const [, status, statusText = ""] = STATUS_LINE.exec(line) ?? [];
  if (status !== undefined) return { kind: "status-line", status: Number(status), statusText };
  const message = `expected a status line "AGTP/1.0 NNN text", got ${quote(line)}`;
  return { kind: "wire-fault", code: "invalid-wire-format", message };
}
