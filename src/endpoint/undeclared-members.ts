/**
 * Members of a body that no schema declares: before it is parsed, each has a name of a fixed set put in
 * the place of its own. Whoever is refused for a member hears of the name that was sent; an input that
 * is accepted is read once more, as it was sent.   AGTP-API §13.2
 */
import type { SentNames } from "../schema/schema-violation.ts";
import { type DeclaredMembers, STAND_IN_MARK, spells } from "./declared-members.ts";

/** As many violations as a refusal lists; what comes after them has one name together. */
const MAX_TOLD = 20;
const STAND_INS = Array.from({ length: MAX_TOLD + 1 }, (_, index) => `${STAND_IN_MARK}${index}`);
const PLACES: ReadonlyMap<string, number> = new Map(
  STAND_INS.map((standIn, index) => [standIn, index]),
);

/** Above this the members are not what a body costs. */
const MAX_OCTETS = 8192;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COLON = 0x3a;

const PARAMETERS = Buffer.from("parameters");
/** Such names have an order of their own, and are kept nowhere. */
const DIGITS = /^[0-9]+$/;

/** The encoding of a body: octets of ASCII are characters of latin1. */
export type BodyEncoding = "latin1" | "utf8";

/** The text between two octets. */
type Cut = (from: number, to: number) => string;

/** Those of one request. */
export class UndeclaredMembers implements SentNames {
  readonly #declared: DeclaredMembers;
  readonly #names: string[] = [];
  /** Some stand in `parameters`, which may be an envelope's. */
  isInParameters = false;

  constructor(declared: DeclaredMembers) {
    this.#declared = declared;
  }

  get isEmpty(): boolean {
    return this.#names.length === 0;
  }

  sentName(member: string): string | undefined {
    const place = PLACES.get(member);
    return place === undefined ? undefined : this.#names[place];
  }

  /** The name that a member has in the input: its own, where it is declared. */
  nameOf(sent: string): string {
    if (this.#declared.has(sent) || DIGITS.test(sent)) return sent;
    const known = this.#names.indexOf(sent);
    if (known !== -1) return STAND_INS[known]!;
    if (this.#names.length < STAND_INS.length) this.#names.push(sent);
    return STAND_INS[this.#names.length - 1]!;
  }

  /** The text of a body with stand-ins. What is no JSON stays none. */
  replaceIn(bytes: Buffer, encoding: BodyEncoding): string {
    const whole = bytes.toString(encoding);
    if (bytes.length > MAX_OCTETS) return whole;
    const cut: Cut =
      encoding === "latin1"
        ? (from, to) => whole.slice(from, to)
        : (from, to) => bytes.toString(encoding, from, to);
    let text = "";
    let copied = 0;
    for (const { start, end, isInParameters } of this.#findIn(bytes)) {
      const sent = nameIn(cut(start, end));
      const name = sent === undefined ? undefined : this.nameOf(sent);
      if (name === undefined || name === sent) continue;
      text += cut(copied, start) + name;
      copied = end;
      if (isInParameters) this.isInParameters = true;
    }
    return copied === 0 ? whole : text + cut(copied, bytes.length);
  }

  /** The names of the body's own members, and of its `parameters`, that are not plainly declared. */
  #findIn(bytes: Buffer): readonly FoundName[] {
    const found: FoundName[] = [];
    let depth = 0;
    let isInParameters = false;
    let start = 0;
    let end = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const octet = bytes[at];
      if (octet === QUOTE) {
        start = at + 1;
        at = endOfText(bytes, start);
        end = at;
      } else if (octet === OPEN_BRACE || octet === OPEN_BRACKET) depth += 1;
      else if (octet === CLOSE_BRACE || octet === CLOSE_BRACKET) depth -= 1;
      else if (octet === COLON && start > 0 && (depth === 1 || (depth === 2 && isInParameters))) {
        if (depth === 1) isInParameters = spells(PARAMETERS, bytes, start, end);
        if (!this.#declared.hasOctets(bytes, start, end)) {
          found.push({ start, end, isInParameters: depth === 2 });
        }
        start = 0;
      }
    }
    return found;
  }
}

/** The place of a name between its quotes. */
interface FoundName {
  readonly start: number;
  readonly end: number;
  readonly isInParameters: boolean;
}

function endOfText(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** The name that stands between quotes; undefined: it is none, and its body is no JSON. */
function nameIn(written: string): string | undefined {
  if (!NEEDS_READING.test(written)) return written;
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch {
    return undefined;
  }
}

/** Escapes, and control characters, which no JSON has. */
const NEEDS_READING = /[\\\u0000-\u001f]/;
