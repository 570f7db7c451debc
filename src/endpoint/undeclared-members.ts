/**
 * Members of a body that no schema declares: before it is parsed, each has a name of a fixed set put in
 * the place of its own. Whoever is refused for a member hears of the name that was sent; an input that
 * is accepted is read once more, as it was sent.   AGTP-API §13.2
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

/** As many violations as a refusal lists; what comes after them has one name together. */
const MAX_TOLD = 20;
const STAND_INS = Array.from({ length: MAX_TOLD + 1 }, (_, index) => `${STAND_IN_MARK}${index}`);
const PLACES: ReadonlyMap<string, number> = new Map(
  STAND_INS.map((standIn, index) => [standIn, index]),
);

/** The longest body whose members are replaced: of a longer one they are not what it costs. */
export const MAX_REPLACED_OCTETS = 8192;

const PARAMETERS = Buffer.from("parameters");
/** Such names have an order of their own, and are kept nowhere. */
const DIGITS = /^[0-9]+$/;

/** The encoding of a body: octets of ASCII are characters of latin1. */
export type BodyEncoding = "latin1" | "utf8";

export class UndeclaredMembers implements SentNames {
  readonly #declared: DeclaredMembers;
  readonly #names: string[] = [];
  readonly #hasQuery: boolean;
  #isShared = false;
  /** Some stand in `parameters`, which may be an envelope's. */
  isInParameters = false;

  constructor(declared: DeclaredMembers, hasQuery: boolean) {
    this.#declared = declared;
    this.#hasQuery = hasQuery;
  }

  get first(): string | undefined {
    return this.#names[0];
  }

  /** True where an input that is accepted has to be read once more: it has stand-ins, or a value that others have. */
  get isPreliminary(): boolean {
    return this.#isShared || this.#names.length > 0;
  }

  sentName(member: string): string | undefined {
    if (!member.startsWith(STAND_IN_MARK)) return undefined;
    const place = PLACES.get(member);
    return place === undefined ? undefined : this.#names[place];
  }

  /** The name that a member has in the input: its own, where it is declared. */
  nameOf(sent: string): string {
    if (this.#declared.has(sent)) return sent;
    // One that comes before all of the body's is not told under the name of the last of them.
    const isOneMore = this.#names.length === STAND_INS.length && !this.#names.includes(sent);
    return isOneMore && !sent.startsWith(STAND_IN_MARK) ? sent : this.#standInOf(sent);
  }

  /**
   * A body beside the fields of a query. It is put together once for as many fields, where the body is shared and
   * nobody declared any of them: what they are called, and what they say, makes no difference to a verdict. Nor is it
   * judged again then: both took a tenth of such a refusal.
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
   * Parses a body of at most `MAX_REPLACED_OCTETS` with stand-ins; undefined: it is no JSON. One that says the same
   * as the one before, under names of its own or beside a query, has the same value, which nobody changes. The text is
   * the body's own, where it is known.
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

  /** Writes a body with stand-ins, and answers with its length; 0: it has none. */
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

  /** The stand-in for what is written between quotes; undefined: it keeps its name, or is none. */
  #nameFor(written: string): string | undefined {
    const needsReading = mustBeRead(written);
    const sent = needsReading ? readName(written) : written;
    if (sent === undefined) return undefined;
    // The octets of a plain name have been looked up.
    const name = needsReading ? this.nameOf(sent) : this.#standInOf(sent);
    return name === sent ? undefined : name;
  }
}

/**
 * A body is put together here: of pieces of text it took twice as long. Of each three octets, which a name without
 * a character takes with its quotes and its colon, six become at most.
 */
const REPLACED = Buffer.allocUnsafeSlow(2 * MAX_REPLACED_OCTETS);

/** Copies octets of a body to what is put together, from `to` on; answers with where they end. */
function copy(bytes: Uint8Array, from: number, end: number, to: number): number {
  let written = to;
  for (let at = from; at < end; at += 1) {
    REPLACED[written] = bytes[at]!;
    written += 1;
  }
  return written;
}

/** A name with escapes; undefined: it is none, and its body is no JSON. */
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

/** Escapes, and control characters, which no JSON has. */
function mustBeRead(written: string): boolean {
  for (let at = 0; at < written.length; at += 1) {
    const code = written.charCodeAt(at);
    if (code === BACKSLASH || code < 0x20) return true;
  }
  return false;
}
