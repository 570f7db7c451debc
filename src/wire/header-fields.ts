/**
 * Header fields: what a name and a value may be, which fields may stand once only, how the field lines
 * of a head become a map, and those that a connection repeats. Answers with `invalid-wire-format`, or
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

/**
 * Tells whether a string may be sent as a header field value: HTAB, printable ASCII and latin1.
 * Characters beyond latin1 must be refused here, since writing them as latin1 could yield CR or LF.
 */
export function isFieldValue(value: string): boolean {
  return VALUE.test(value);
}

/** The parts of a field line; offsets are relative to the first octet of the header block. */
export interface FieldLine {
  /** Lower-case, if it is one of the well-known. */
  readonly knownName: string | undefined;
  readonly nameStart: number;
  readonly nameEnd: number;
  /** Without optional whitespace. */
  readonly valueStart: number;
  readonly valueEnd: number;
}

/**
 * The fields of one head. A value becomes a string when it is asked for: most fields of most messages
 * never are.
 */
export class FieldList implements HeaderFields {
  readonly #names: readonly string[];
  readonly #lines: readonly FieldLine[];
  readonly #block: string;
  /** Undefined: they are not kept. */
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

  /** The same fields for many messages, in texts of their own. */
  keep(): FieldList {
    const values = this.#lines.map((line) => flatText(fieldValue(line, this.#block)));
    // A well-known name stays the text that readers ask by, which is found without a look at its characters.
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

/** Fields of lower-case names, those that are repeated joined; a fault for one that may stand once. */
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

/** The length of a piece of a message inside a sentence, which is cut short since it is hostile. */
export const MAX_QUOTED_LENGTH = 40;

/** A piece of a message inside a sentence: quoted, escaped and cut short. */
export function quote(text: string): string {
  return JSON.stringify(clip(text, MAX_QUOTED_LENGTH));
}

/**
 * Names of header fields seen on nearly every message, recognised in the bytes themselves, in any
 * case: neither a string nor its lower-casing has to be made for them. A name that is not listed
 * costs a little more and means the same.
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

/** The lower-case name that the token in `bytes` spells, if it is one of the well-known. */
export function knownFieldName(bytes: Uint8Array, from: number, to: number): string | undefined {
  const length = to - from;
  const known = TABLE[slot(length, bytes[from]!, bytes[to - 1]!)];
  if (known === undefined || known.octets.length !== length) return undefined;
  const { octets } = known;
  for (let index = 0; index < length; index += 1) {
    // Within a token, setting the bit changes letters and nothing that could be read as "-".
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
    // Of two names that share a slot, the later is merely not recognised.
    table[slot(name.length, octets[0]!, octets[name.length - 1]!)] ??= { name, octets };
  }
  return table;
}

/** The header block of a message, with the empty line, and what it says. */
interface KnownFields {
  readonly octets: Buffer;
  readonly headers: FieldList;
  readonly contentLength: number;
}

/** A longer one is read anew each time. */
const MAX_OCTETS = 1024;
/** A peer whose fields are always others is looked at again after so many messages at last. */
const MAX_PATIENCE = 1024;

/**
 * The header fields of the message before; one a parser. Those of a connection's next message are mostly the same
 * octets, which are compared where they arrived, neither scanned nor decoded again. With it a request of three fields
 * takes a tenth less.
 */
export class RepeatedFields {
  #known: KnownFields | undefined;
  #isUsed = false;
  /** So many more messages go by before one is kept: a connection's first, and those behind one kept in vain. */
  #patience = 1;
  #nextPatience = 1;

  /** True while there are fields to be repeated. */
  get isKnown(): boolean {
    return this.#known !== undefined;
  }

  /** The fields of the header block that begins at `from`, if they are those of the message before. */
  find(bytes: Uint8Array, from: number, end: number): KnownFields | undefined {
    const known = this.#known;
    if (known === undefined) return undefined;
    const to = from + known.octets.length;
    if (to > end || known.octets.compare(bytes, from, to) !== 0) return undefined;
    this.#isUsed = true;
    return known;
  }

  /** Notes fields that were read anew, from the octets between these. */
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
