/**
 * Header fields: what a name and a value may be, which fields may stand once only, and how the
 * field lines of a head become a map and a body length. Answers with `invalid-wire-format`,
 * `invalid-framing` or `body-too-large`.
 * AGTP "Wire Format", RFC 9110 §5
 */

import type { FieldLine } from "./head-scanner.ts";
import type { HeaderFields, WireFault } from "./message.ts";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Request fields that carry one identity, key or credential: two of them would let two readers of
 * one message disagree on who is asking for what.
 */
export const SINGLETON_FIELDS: ReadonlySet<string> = new Set([
  "agent-id",
  "allow-rcns",
  "authorization",
  "content-type",
  "contract-synthesized",
  "escalation-id",
  "idempotency-key",
  "negotiation-id",
  "owner-id",
  "request-id",
  "session-id",
  "synthesis-id",
  "task-id",
]);

/** Tells whether a string is an RFC 9110 token: a method, or a header field name. */
export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** Tells whether a string may be sent as a header field name. */
export function isFieldName(name: string): boolean {
  return TOKEN.test(name);
}

/**
 * Tells whether a string may be sent as a header field value: HTAB, printable ASCII and latin1.
 * Characters beyond latin1 must be refused here, since writing them as latin1 could yield CR or LF.
 */
export function isFieldValue(value: string): boolean {
  return VALUE.test(value);
}

/**
 * The fields of one head. A value becomes a string when it is first asked for: most fields of most
 * messages never are.
 */
class FieldList implements HeaderFields {
  readonly #names: readonly string[];
  readonly #lines: readonly FieldLine[];
  readonly #block: string;

  constructor(names: readonly string[], lines: readonly FieldLine[], block: string) {
    this.#names = names;
    this.#lines = lines;
    this.#block = block;
  }

  get size(): number {
    return this.#names.length;
  }

  has(name: string): boolean {
    return this.#names.includes(name);
  }

  get(name: string): string | undefined {
    const names = this.#names;
    for (let index = 0; index < names.length; index += 1) {
      if (names[index] === name) return fieldValue(this.#lines[index]!, this.#block);
    }
    return undefined;
  }

  *[Symbol.iterator](): Generator<readonly [string, string]> {
    for (const [index, line] of this.#lines.entries()) {
      yield [this.#names[index]!, fieldValue(line, this.#block)];
    }
  }
}

/** Names up to so many are compared one by one, more of them through a set. */
const FEW_FIELDS = 12;

/**
 * The fields of a header block, given as latin1. A repeated field is joined with ", ", unless it is
 * Content-Length or one of `singletons`.
 */
export function collectFields(
  lines: readonly FieldLine[],
  block: string,
  singletons: ReadonlySet<string>,
): HeaderFields | WireFault {
  const names: string[] = [];
  let isRepeated = false;
  for (const line of lines) {
    const name = fieldName(line, block);
    if (lines.length <= FEW_FIELDS && names.includes(name)) isRepeated = true;
    names.push(name);
  }
  if (lines.length > FEW_FIELDS) isRepeated = new Set(names).size < names.length;
  const fields = new FieldList(names, lines, block);
  return isRepeated ? joinRepeated(fields, singletons) : fields;
}

function joinRepeated(
  lines: Iterable<readonly [name: string, value: string]>,
  singletons: ReadonlySet<string>,
): HeaderFields | WireFault {
  const fields = new Map<string, string>();
  for (const [name, value] of lines) {
    const earlier = fields.get(name);
    if (earlier !== undefined && name === "content-length") {
      return framing("more than one Content-Length");
    }
    if (earlier !== undefined && singletons.has(name)) {
      const message = `header field ${quote(name)} may stand once only`;
      return { kind: "wire-fault", code: "invalid-wire-format", message };
    }
    fields.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  }
  return fields;
}

function fieldName(line: FieldLine, block: string): string {
  const { knownName, nameStart, nameEnd } = line;
  return knownName ?? block.slice(nameStart, nameEnd).toLowerCase();
}

function fieldValue(line: FieldLine, block: string): string {
  return block.slice(line.valueStart, line.valueEnd);
}

/** The octets of the body that follow a head, or why they cannot be known. */
export function readContentLength(fields: HeaderFields, bodyBytes: number): number | WireFault {
  if (fields.has("transfer-encoding")) {
    return framing("Transfer-Encoding is not part of AGTP, expected Content-Length");
  }
  const written = fields.get("content-length");
  if (written === undefined) return 0;
  const length = readDigits(written);
  if (length === undefined) {
    return framing(`Content-Length ${quote(written)} is not a sequence of digits`);
  }
  if (length <= bodyBytes) return length;
  const message = `body of ${clip(written)} octets exceeds the limit of ${bodyBytes}`;
  return { kind: "wire-fault", code: "body-too-large", message };
}

/** The number that ASCII digits spell; what is absurdly long becomes absurdly large. */
function readDigits(text: string): number | undefined {
  let value = 0;
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
  }
  return text === "" ? undefined : value;
}

/** A piece of a message inside a sentence: quoted, escaped and cut short, since it is hostile. */
export function quote(text: string): string {
  return JSON.stringify(clip(text));
}

function clip(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function framing(message: string): WireFault {
  return { kind: "wire-fault", code: "invalid-framing", message };
}
