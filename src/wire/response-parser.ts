/**
 * Parses the bytes of a connection into responses, for clients. Unknown statuses, any status text
 * and repeated fields are accepted; a message that cannot be framed is a fault.   AGTP "Wire
 * Format"
 */

import { nameText } from "../base/kept-text.ts";
import type { HeaderFields, ResponseLimits } from "./fields.ts";
import { quote } from "./header-fields.ts";
import type { WireFault } from "./message.ts";
import { MessageParser, type MessageRules, StartLineMemory } from "./message-parser.ts";

/** A response as a client reads it. */
export interface ReceivedResponse {
  readonly status: number;
  /** The status text, which is informational only. */
  readonly statusText: string;
  readonly headers: HeaderFields;
  readonly body: Uint8Array;
}

/** Generous bounds, since an Attribution-Record alone may take kilobytes. */
export const DEFAULT_RESPONSE_LIMITS: ResponseLimits = {
  headBytes: 256 * 1024,
  bodyBytes: 64 * 1024 * 1024,
};

const HEADER_COUNT = 1024;

const RESPONSE_RULES: MessageRules<StatusLine, ReceivedResponse> = {
  startLine: {
    name: "status line",
    invalid: "invalid-wire-format",
    tooLong: "header-too-large",
    parse: parseStatusLine,
    own: (start) => ({ ...start, statusText: nameText(start.statusText) }),
  },
  remembered: new StartLineMemory(),
  singletons: new Set(),
  build: ({ status, statusText }, headers, body) => ({ status, statusText, headers, body }),
};

/** Parses the bytes of a connection into responses. After a fault nothing more is read. */
export class ResponseParser extends MessageParser<StatusLine, ReceivedResponse> {
  constructor(limits: ResponseLimits = DEFAULT_RESPONSE_LIMITS) {
    super(RESPONSE_RULES, {
      requestLineBytes: limits.headBytes,
      headerBytes: limits.headBytes,
      headerCount: HEADER_COUNT,
      bodyBytes: limits.bodyBytes,
    });
  }
}

/** The parts of a status line. */
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
