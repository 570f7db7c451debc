/**
 * Numbers in JSON that a double does not keep: an integer that is read and written again is another one, one beyond all
 * doubles is null, and no reader is told. Fractions are rounded, which is no more than they say.   RFC 8259 §6
 */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { endOfText, isDigit, MINUS, QUOTE, SMALL_E } from "./json-octets.ts";
import { isRecord, isStructure, parseJson } from "./json-value.ts";
import { noteSource, shareEncoded, sourceOf } from "./kept-text.ts";

/** A safe integer may have as many digits; one that is lost has no fewer. */
const DIGITS = 16;
const INTEGER = /^-?\d{16,}$/;
/** The characters that a number has behind its first digit. */
const OF_NUMBERS: ReadonlySet<number> = new Set(Buffer.from("0123456789.eE+-"));

interface LostNumber {
  readonly token: string;
  /** Its octets. */
  readonly from: number;
  readonly to: number;
}

/** The numbers that would not be kept, in order. Not by a regular expression: a text of megabytes overflows its stack. */
function* lostNumbers(octets: Buffer): Generator<LostNumber> {
  for (let at = 0; at < octets.length; at += 1) {
    if (octets[at] === QUOTE) at = endOfText(octets, at + 1);
    if (!isDigit(octets[at] ?? 0)) continue;
    const from = octets[at - 1] === MINUS ? at - 1 : at;
    let isPower = false;
    while (OF_NUMBERS.has(octets[at + 1] ?? 0)) {
      at += 1;
      isPower ||= isSmallE(octets[at]);
    }
    if (at - from + 1 < DIGITS && !isPower) continue;
    const token = octets.toString("latin1", from, at + 1);
    if (isLostNumber(token)) yield { token, from, to: at + 1 };
  }
}

/** In either case. */
function isSmallE(octet = 0): boolean {
  return (octet | 0x20) === SMALL_E;
}

/** Tells whether a number of JSON, as it is written, would not be kept. */
export function isLostNumber(token: string): boolean {
  const number = Number(token);
  if (!Number.isFinite(number)) return true;
  if (!INTEGER.test(token) || Number.isSafeInteger(number)) return false;
  return BigInt(token) !== writtenInteger(number);
}

/** The integer that a double is written as: the fewest digits that read as it, then zeros. It may have others itself. */
function writtenInteger(number: number): bigint {
  const [digits = "", exponent = "0"] = String(number).split("e+");
  const [whole = "", fraction = ""] = digits.split(".");
  return BigInt(whole + fraction.padEnd(Number(exponent), "0"));
}

/** Tells whether JSON, and a value that was read of it, has a number that would not be kept. */
export function hasLostNumbers(octets: Uint8Array, value: unknown): boolean {
  return mayHaveLost(octets, value) && lostNumbers(asBuffer(octets)).next().done !== true;
}

/**
 * The numbers of JSON that would not be kept, as they are written, by what they are read as; undefined: all are that
 * `value` has, which was read of it.
 */
export function findLostNumbers(
  octets: Uint8Array,
  value: unknown,
): ReadonlyMap<number, string> | undefined {
  if (!mayHaveLost(octets, value)) return undefined;
  const tokens = new Map<number, string>();
  for (const { token } of lostNumbers(asBuffer(octets))) {
    const number = Number(token);
    if (!tokens.has(number)) tokens.set(number, token);
  }
  return tokens.size === 0 ? undefined : tokens;
}

function asBuffer(octets: Uint8Array): Buffer {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.length);
}

/** A power of three digits or more, in whatever text. */
const POWER = /\d[Ee][-+]?\d{3}/;

/** Tells whether octets that nobody has read yet are worth a look for such numbers. */
export function seemsToHaveLost(octets: Buffer): boolean {
  return hasDigits(octets) || POWER.test(octets.toString("latin1"));
}

/** Each request is asked: a look at every sixteenth octet, and at the numbers that were read. */
function mayHaveLost(octets: Uint8Array, value: unknown): boolean {
  return hasDigits(octets) || hasInfinite(value);
}

/** Tells whether there are so many digits in a row. */
function hasDigits(octets: Uint8Array): boolean {
  for (let at = DIGITS - 1; at < octets.length; at += DIGITS) {
    if (!isDigit(octets[at] ?? 0)) continue;
    let [from, to] = [at, at];
    while (isDigit(octets[from - 1] ?? 0)) from -= 1;
    while (isDigit(octets[to + 1] ?? 0)) to += 1;
    if (to - from + 1 >= DIGITS) return true;
    at = to;
  }
  return false;
}

/** JSON has no such number: it was read of one that is beyond all doubles. */
function hasInfinite(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (Array.isArray(value)) return value.some(hasInfinite);
  if (!isRecord(value)) return false;
  // Four times as fast as by a list of its values.
  for (const name in value) if (hasInfinite(value[name])) return true;
  return false;
}

/** A number as large is written with an exponent, and is a quantity. */
const MANY = 1e21;

/** Says of a number that was read from JSON why it may be another one than was written; undefined: it is not. */
export function lossOf(number: number): string | undefined {
  if (!Number.isFinite(number)) return "is a number beyond what a double has";
  const isRounded = Number.isInteger(number) && !Number.isSafeInteger(number);
  return isRounded && Math.abs(number) < MANY ? "is an integer beyond 2^53" : undefined;
}

/** Stands in a text for a number: no text of anybody's has it. */
const MARK = `\0${randomBytes(12).toString("hex")} `;
const MARKED = new RegExp(
  `"${JSON.stringify(MARK).slice(1, -1).replace("\\", "\\\\")}([-+.\\dEe]+)"`,
  "g",
);

/** JSON with texts in the place of the numbers that would not be kept, for a reader that writes it again. */
export function markLost(octets: Uint8Array): string {
  const json = asBuffer(octets);
  let marked = "";
  let done = 0;
  for (const { token, from, to } of lostNumbers(json)) {
    marked += json.toString("utf8", done, from) + JSON.stringify(MARK + token);
    done = to;
  }
  return marked + json.toString("utf8", done);
}

/** JSON with the numbers again for which texts stand. */
export function restoreLost(json: string): string {
  return json.replace(MARKED, "$1");
}

const WRITTEN_MARK = Buffer.from(JSON.stringify(MARK).slice(1, -1));

/** Octets of JSON, whole messages of it, with the numbers again. */
export function restoreOctets(octets: Uint8Array): Uint8Array {
  const json = asBuffer(octets);
  return json.includes(WRITTEN_MARK) ? Buffer.from(restoreLost(json.toString())) : octets;
}

/** A value with texts in the place of the numbers that its source has and it has not. */
export function markedOf(value: unknown): unknown {
  const json = sourceOf(value);
  return json === undefined ? value : JSON.parse(markLost(Buffer.from(json)));
}

/** Tells whether texts stand for numbers in a value. */
function isMarked(value: unknown): boolean {
  if (typeof value === "string") return value.startsWith(MARK);
  return isStructure(value) && Object.values(value).some(isMarked);
}

/**
 * Writes JSON again as it is after `change`, numbers that a double does not keep to the digit.
 *
 * @param change takes the value, in which texts may stand for numbers
 */
export function rewriteExactly(
  octets: Uint8Array,
  change: (value: unknown) => unknown,
  indent = 0,
): string {
  return restoreLost(JSON.stringify(change(JSON.parse(markLost(octets))), undefined, indent));
}

/** The value of JSON in which texts may stand for numbers: it has the numbers, and is sent with their digits. */
export function readMarked(value: unknown): unknown {
  if (!isMarked(value)) return value;
  const json = restoreLost(JSON.stringify(value));
  const read: unknown = JSON.parse(json);
  return isStructure(read) ? shareEncoded(read, json) : read;
}

/** The value of JSON, noted where it has numbers that would not be kept; undefined: it is none. */
export function parseNoting(json: string): unknown {
  const value = parseJson(json);
  const isLossy = isStructure(value) && hasLostNumbers(Buffer.from(json), value);
  return isLossy ? noteSource(value, json) : value;
}

/** A value that is made around another one, with the numbers of that as they were written. */
export function makeAround<T extends object>(value: unknown, make: (value: unknown) => T): T {
  const made = make(value);
  const json = sourceOf(value);
  return json === undefined ? made : shareEncoded(made, rewriteExactly(Buffer.from(json), make));
}
