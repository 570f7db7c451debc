/**
 * Undeclared members of a body: before it is parsed, their names are replaced by stand-ins from a
 * fixed set. A refusal quotes the name that was sent; an accepted input is read again, as it was
 * sent.   AGTP-API §13.2
 */
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  endOfText,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "../base/json-octets.ts";
import { type JsonRecord, parseJson } from "../base/json-value.ts";
import type { SentNames } from "../schema/schema-violation.ts";
import { type DeclaredMembers, STAND_IN_MARK, spells } from "./declared-members.ts";

/** The number of violations that a refusal lists; further members share one stand-in. */
const MAX_TOLD = 20;
const STAND_INS = Array.from({ length: MAX_TOLD + 1 }, (_, index) => `${STAND_IN_MARK}${index}`);
const PLACES: ReadonlyMap<string, number> = new Map(
  STAND_INS.map((standIn, index) => [standIn, index]),
);

/** The maximum length of a body with stand-ins; in a longer one, names are not the main cost. */
export const MAX_REPLACED_OCTETS = 8192;

const PARAMETERS = Buffer.from("parameters");
/** V8 stores such members as elements, ordered before all others, and caches no names for them. */
const DIGITS = /^[0-9]+$/;

/** The encoding of a body; ASCII octets are latin1 characters. */
export type BodyEncoding = "latin1" | "utf8";

export class UndeclaredMembers implements SentNames {
  readonly #declared: DeclaredMembers;
  readonly #names: string[] = [];
  readonly #hasQuery: boolean;
  #isShared = false;
  /** True if some of them are in `parameters`, which may be an envelope's. */
  isInParameters = false;

  constructor(declared: DeclaredMembers, hasQuery: boolean) {
    this.#declared = declared;
    this.#hasQuery = hasQuery;
  }

  get first(): string | undefined {
    return this.#names[0];
  }

  /** True if an accepted input must be read again, since it has stand-ins or a shared value. */
  get isPreliminary(): boolean {
    return this.#isShared || this.#names.length > 0;
  }

  sentName(member: string): string | undefined {
    if (!member.startsWith(STAND_IN_MARK)) return undefined;
    const place = PLACES.get(member);
    return place === undefined ? undefined : this.#names[place];
  }

  /** Returns a member's name in the input: its own if it is declared. */
  nameOf(sent: string): string {
    if (this.#declared.has(sent)) return sent;
    // Once the stand-ins are used up, another field keeps its name, lest it be reported under the
    // last one's.
    const isOneMore = this.#names.length === STAND_INS.length && !this.#names.includes(sent);
    return isOneMore && !sent.startsWith(STAND_IN_MARK) ? sent : this.#standInOf(sent);
  }

  /**
   * Merges a body with query fields. If the body is shared and no field is declared, the result is
   * reused for the same number of fields, since their names and values do not affect the verdict,
   * and it is not judged again: both took a tenth of such a refusal.
   */
  beside(body: JsonRecord, fields: Iterable<string>, merge: () => JsonRecord): JsonRecord {
    if (!this.#isShared || !this.#haveStandIns(fields)) return merge();
    const declared = this.#declared;
    const count = this.#names.length;
    const before = declared.lastBeside;
    if (before?.body === body && before.count === count) return before.value;
    const value = merge();
    declared.lastBeside = { body, count, value };
    return value;
  }

  #haveStandIns(fields: Iterable<string>): boolean {
    for (const name of fields) if (this.nameOf(name) === name) return false;
    return true;
  }

  #standInOf(sent: string): string {
    const first = sent.charCodeAt(0);
    if (first >= 0x30 && first <= 0x39 && DIGITS.test(sent)) return sent;
    const known = this.#names.indexOf(sent);
    if (known !== -1) return STAND_INS[known]!;
    if (this.#names.length < STAND_INS.length) this.#names.push(sent);
    return STAND_INS[this.#names.length - 1]!;
  }

  /**
   * Parses a body of at most `MAX_REPLACED_OCTETS` with stand-ins; undefined for invalid JSON. A
   * body that equals the last one, apart from undeclared names or its query, gets the same value,
   * which must not be changed. `text` is the body's text, if known.
   */
  parse(bytes: Buffer, encoding: BodyEncoding, text?: string): unknown {
    const { lastClean, lastReplaced } = this.#declared;
    if (lastClean.says(bytes, bytes.length)) {
      if (!this.#hasQuery) return parseJson(text ?? bytes.toString(encoding));
      lastClean.value ??= parseJson(text ?? bytes.toString(encoding));
      this.#isShared = true;
      return lastClean.value;
    }
    const length = this.#replaceIn(bytes, encoding);
    if (length === 0) return parseJson(text ?? bytes.toString(encoding));
    if (lastReplaced.tag === encoding && lastReplaced.says(REPLACED, length)) {
      return lastReplaced.value;
    }
    const value = parseJson(REPLACED.toString(encoding, 0, length));
    lastReplaced.keep(REPLACED, length, encoding, value);
    return value;
  }

  /** Writes a body with stand-ins to `REPLACED` and returns its length; 0 without stand-ins. */
  #replaceIn(bytes: Buffer, encoding: BodyEncoding): number {
    const declared = this.#declared;
    const { length } = bytes;
    let written = 0;
    let copied = 0;
    let depth = 0;
    let isInParameters = false;
    let start = 0;
    let end = 0;
    for (let at = 0; at < length; at += 1) {
      const octet = bytes[at];
      if (octet === QUOTE) {
        start = at + 1;
        at = endOfText(bytes, start);
        end = at;
      } else if (octet === COLON) {
        if (start === 0 || (depth !== 1 && (depth !== 2 || !isInParameters))) continue;
        const name = declared.hasOctets(bytes, start, end)
          ? undefined
          : bytes.toString(encoding, start, end);
        if (depth === 1) {
          isInParameters = spells(PARAMETERS, bytes, start, end) || isEscapedParameters(name);
        }
        const standIn = name === undefined ? undefined : this.#nameFor(name);
        if (standIn !== undefined) {
          written = copy(bytes, copied, start, written);
          for (let index = 0; index < standIn.length; index += 1) {
            REPLACED[written] = standIn.charCodeAt(index);
            written += 1;
          }
          copied = end;
          if (depth === 2) this.isInParameters = true;
        }
        start = 0;
      } else if (octet === OPEN_BRACE || octet === OPEN_BRACKET) depth += 1;
      else if (octet === CLOSE_BRACE || octet === CLOSE_BRACKET) depth -= 1;
    }
    if (copied > 0) return copy(bytes, copied, length, written);
    if (this.#names.length === 0) declared.lastClean.keep(bytes, length);
    return 0;
  }

  /** Returns the stand-in for a quoted name; undefined if it keeps its name or is invalid. */
  #nameFor(written: string): string | undefined {
    const needsReading = mustBeRead(written);
    const sent = needsReading ? readName(written) : written;
    if (sent === undefined) return undefined;
    // The octets of a plain name were already looked up.
    const name = needsReading ? this.nameOf(sent) : this.#standInOf(sent);
    return name === sent ? undefined : name;
  }
}

/**
 * The buffer of a body with stand-ins, which is twice as fast as joining texts. The shortest name
 * takes three octets with its quotes and colon, and becomes at most six.
 */
const REPLACED = Buffer.allocUnsafeSlow(2 * MAX_REPLACED_OCTETS);

/** Copies octets of a body to `REPLACED` at `to`; returns the end of the copy. */
function copy(bytes: Uint8Array, from: number, end: number, to: number): number {
  let written = to;
  for (let at = from; at < end; at += 1) {
    REPLACED[written] = bytes[at]!;
    written += 1;
  }
  return written;
}

/** Decodes a name with escapes; undefined if it is invalid JSON. */
function readName(written: string): string | undefined {
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return undefined;
  }
}

function isEscapedParameters(written: string | undefined): boolean {
  return written?.includes("\\") === true && readName(written) === "parameters";
}

/** Tells whether a name has escapes, or control characters, which JSON forbids. */
function mustBeRead(written: string): boolean {
  for (let at = 0; at < written.length; at += 1) {
    const code = written.charCodeAt(at);
    if (code === BACKSLASH || code < 0x20) return true;
  }
  return false;
}
