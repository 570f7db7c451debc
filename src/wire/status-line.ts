/**
 * The status line: `AGTP/1.0 NNN TEXT`. A client decides by the number alone, so the text may be
 * anything, or missing. Answers with `invalid-wire-format`.   AGTP "Wire Format"
 */

import { quote } from "./header-fields.ts";
import type { WireFault } from "./message.ts";

/** The two things a status line says. */
export interface StatusLine {
  readonly kind: "status-line";
  readonly status: number;
  readonly statusText: string;
}

const STATUS_LINE = /^AGTP\/1\.0 ([1-9][0-9][0-9])(?: (.*))?$/;

/** Reads a status line without its CRLF, given as latin1. */
export function parseStatusLine(line: string): StatusLine | WireFault {
  const [, status, statusText = ""] = STATUS_LINE.exec(line) ?? [];
  if (status !== undefined) return { kind: "status-line", status: Number(status), statusText };
  const message = `expected a status line "AGTP/1.0 NNN text", got ${quote(line)}`;
  return { kind: "wire-fault", code: "invalid-wire-format", message };
}
