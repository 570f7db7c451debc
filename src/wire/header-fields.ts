/**
 * Header fields: valid names and values, fields that may occur only once, the map of a head's field
 * lines, and the fields that a connection repeats. Faults are `invalid-wire-format`, or
 * `invalid-framing` for a second Content-Length.   AGTP "Wire Format", RFC 9110 §5
 */

import { Buffer } from "node:buffer";
import { clip } from "../base/json-value.ts";
import { flatText } from "../base/kept-text.ts";
import type { HeaderFields } from "./fields.ts";
import type { WireFault } from "./message.ts";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Request fields with one identity, key or credential: if one occurred twice, two readers of a
 * message could disagree on the caller or the request.
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

/**
 * Tells whether a string may be sent as a header field value: HTAB, printable ASCII and latin1.
 * Characters beyond latin1 must be refused here, since writing them as latin1 could yield CR or LF.
 */
export function isFieldValue(value: string): boolean {
  return VALUE.test(value);
}

/** The parts of a field line; offsets are relative to the first octet of the header block. */
export interface FieldLine {
  /** The lower-case name of a well-known field. */
  readonly knownName: string | undefined;
  readonly nameStart: number;
  readonly nameEnd: number;
  /** The start of the value, after optional whitespace. */
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** The fields of one head. Values are decoded on demand, since most are never read. */
export class FieldList implements HeaderFields {
  readonly #names: readonly string[];
  readonly #lines: readonly FieldLine[];
  readonly #block: string;
  /** The values as texts; undefined if they are slices of the block. */
  readonly #values: readonly string[] | undefined;

  constructor(
    names: readonly string[],
    lines: readonly FieldLine[],
    block: string,
    values?: readonly string[],
  ) {
    this.#names = names;
    this.#lines = lines;
    this.#block = block;
    this.#values = values;
  }

  /** Returns a copy in texts of its own, for many messages. */
  keep(): FieldList {
    const values = this.#lines.map((line) => flatText(fieldValue(line, this.#block)));
    // A well-known name stays the text that readers ask by, so that comparing needs no look at its
    // characters.
    const names = this.#lines.map(({ knownName }, at) => knownName ?? flatText(this.#names[at]!));
    return new FieldList(names, [], "", values);
  }

  get size(): number {
    return this.#names.length;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  get(name: string): string | undefined {
    const names = this.#names;
    for (let index = 0; index < names.length; index += 1) {
      if (names[index] === name) return this.#valueAt(index);
    }
    return undefined;
  }

  *[Symbol.iterator](): Generator<readonly [string, string]> {
    for (const [index, name] of this.#names.entries()) yield [name, this.#valueAt(index)];
  }

  #valueAt(index: number): string {
    const values = this.#values;
    return values === undefined ? fieldValue(this.#lines[index]!, this.#block) : values[index]!;
  }
}

/** The number of names up to which they are compared one by one; more are compared by a set. */
const FEW_FIELDS = 12;

/**
 * Collects the fields of a header block, given as latin1. A repeated field is joined with ", ",
 * unless it is Content-Length or one of `singletons`.
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

/** Joins repeated fields with lower-case names; returns a fault for one that may occur only once. */
export function joinRepeated(
  lines: Iterable<readonly [name: string, value: string]>,
  singletons: ReadonlySet<string>,
): HeaderFields | WireFault {
  const fields = new Map<string, string>();
  for (const [name, value] of lines) {
    const earlier = fields.get(name);
    if (earlier !== undefined && name === "content-length") {
      const message = "more than one Content-Length";
      return { kind: "wire-fault", code: "invalid-framing", message };
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

/** The maximum length of a quotation in a message, which is bounded since it may be hostile. */
export const MAX_QUOTED_LENGTH = 40;

/** Quotes a text for a message: escaped and cut short. */
export function quote(text: string): string {
  return JSON.stringify(clip(text, MAX_QUOTED_LENGTH));
}

/**
 * Field names that nearly every message has, recognised in the bytes in any case, without making a
 * string or lower-casing it. Other names cost a little more.
 */
const NAMES = [
  ...["accept", "agent-id", "agtp-api-version", "allow-rcns", "attribution-record"],
  ...["authority-scope", "authorization", "content-length", "content-type"],
  ...[
    "contract-synthesized",
    "escalation-id",
    "host",
    "idempotency-key",
    "negotiation-id",
    "owner-id",
  ],
  ...["request-id", "response-id", "server-id", "session-id", "task-id", "trust-tier"],
  ...["user-agent", "verification-path"],
];

interface KnownField {
  readonly name: string;
  readonly octets: Uint8Array;
}

const SLOTS = 256;
const LOWER_CASE_BIT = 0x20;
const TABLE: readonly (KnownField | undefined)[] = buildTable();

/** Returns the lower-case name of a token in `bytes` if it is well-known. */
export function knownFieldName(bytes: Uint8Array, from: number, to: number): string | undefined {
  const length = to - from;
  const known = TABLE[slot(length, bytes[from]!, bytes[to - 1]!)];
  if (known === undefined || known.octets.length !== length) return undefined;
  const { octets } = known;
  for (let index = 0; index < length; index += 1) {
    // In a token, the bit only changes letters and never yields "-".
    if ((bytes[from + index]! | LOWER_CASE_BIT) !== octets[index]) return undefined;
  }
  return known.name;
}

function slot(length: number, first: number, last: number): number {
  return (length * 37 + (first | LOWER_CASE_BIT) * 5 + (last | LOWER_CASE_BIT) * 11) % SLOTS;
}

function buildTable(): (KnownField | undefined)[] {
  const table = new Array<KnownField | undefined>(SLOTS).fill(undefined);
  for (const name of NAMES) {
    const octets = Uint8Array.from(name, (letter) => letter.charCodeAt(0));
    // If two names share a slot, the later one is not recognised here.
    table[slot(name.length, octets[0]!, octets[name.length - 1]!)] ??= { name, octets };
  }
  return table;
}

/** The header block of a message, with its empty line, and its parsed form. */
interface KnownFields {
  readonly octets: Buffer;
  readonly headers: FieldList;
  readonly contentLength: number;
}

/** The maximum length of a block that is remembered. */
const MAX_OCTETS = 1024;
/** The maximum number of messages before a peer with changing fields is tried again. */
const MAX_PATIENCE = 1024;

/**
 * Remembers the header fields of a parser's last message. The next message mostly has the same
 * octets, which are then compared in place instead of scanned and decoded again: a request with
 * three fields takes a tenth less.
 */
export class RepeatedFields {
  #known: KnownFields | undefined;
  #isUsed = false;
  /**
   * The number of messages to skip before the next block is remembered: the first of a connection,
   * and those after one remembered in vain.
   */
  #patience = 1;
  #nextPatience = 1;

  /** True if a block is remembered. */
  get isKnown(): boolean {
    return this.#known !== undefined;
  }

  /** Returns the remembered fields if the header block at `from` repeats them. */
  find(bytes: Uint8Array, from: number, end: number): KnownFields | undefined {
    const known = this.#known;
    if (known === undefined) return undefined;
    const to = from + known.octets.length;
    if (to > end || known.octets.compare(bytes, from, to) !== 0) return undefined;
    this.#isUsed = true;
    return known;
  }

  /** Offers newly parsed fields to be remembered, with their octets. */
  note(
    [bytes, from, to]: readonly [bytes: Uint8Array, from: number, to: number],
    headers: FieldList,
    contentLength: number,
  ): void {
    if (this.#isUsed) this.#nextPatience = 1;
    if (this.#patience > 0) {
      this.#patience -= 1;
      return;
    }
    this.#patience = this.#nextPatience;
    this.#nextPatience = Math.min(2 * this.#nextPatience, MAX_PATIENCE);
    this.#isUsed = false;
    if (to - from > MAX_OCTETS) this.#known = undefined;
    else {
      const octets = Buffer.from(bytes.subarray(from, to));
      this.#known = { octets, headers: headers.keep(), contentLength };
    }
  }
}
