/**
 * Numbers in JSON that a double cannot hold: an integer that is parsed and written again becomes
 * another one, and one beyond the range of doubles becomes null, silently. Fractions are only
 * rounded.   RFC 8259 §6
 */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { endOfText, isDigit, MINUS, QUOTE, SMALL_E } from "./json-octets.ts";
import { isRecord, isStructure, parseJson } from "./json-value.ts";
import { noteSource, shareEncoded, sourceOf } from "./kept-text.ts";

/** The minimum number of digits of an inexact integer; a safe one may also have this many. */
const DIGITS = 16;
const INTEGER = /^-?\d{16,}$/;
/** The characters of a number after its first digit. */
const OF_NUMBERS: ReadonlySet<number> = new Set(Buffer.from("0123456789.eE+-"));

interface LostNumber {
  readonly token: string;
  /** The offset of its first octet. */
  readonly from: number;
  readonly to: number;
}

/** Finds the inexact numbers, in order. A regular expression would overflow the stack on megabytes. */
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

/** Tells whether an octet is e or E. */
function isSmallE(octet = 0): boolean {
  return (octet | 0x20) === SMALL_E;
}

/** Tells whether a JSON number as written would be changed. */
export function isLostNumber(token: string): boolean {
  const number = Number(token);
  if (!Number.isFinite(number)) return true;
  if (!INTEGER.test(token) || Number.isSafeInteger(number)) return false;
  return BigInt(token) !== writtenInteger(number);
}

/**
 * Returns the integer as which a double is written: its shortest digits, then zeros. Its exact
 * value may differ.
 */
function writtenInteger(number: number): bigint {
  const [digits = "", exponent = "0"] = String(number).split("e+");
  const [whole = "", fraction = ""] = digits.split(".");
  return BigInt(whole + fraction.padEnd(Number(exponent), "0"));
}

/** Tells whether a JSON text, given with its parsed value, has an inexact number. */
export function hasLostNumbers(octets: Uint8Array, value: unknown): boolean {
  return mayHaveLost(octets, value) && lostNumbers(asBuffer(octets)).next().done !== true;
}

/** Finds the inexact numbers of a JSON text, as written, by parsed value; undefined if there are none. */
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

/** An exponent of three digits or more. */
const POWER = /\d[Ee][-+]?\d{3}/;

/** Tells whether unparsed octets may have such numbers. */
export function seemsToHaveLost(octets: Buffer): boolean {
  return hasDigits(octets) || POWER.test(octets.toString("latin1"));
}

/** A quick test for each request: it reads every sixteenth octet, and the parsed numbers. */
function mayHaveLost(octets: Uint8Array, value: unknown): boolean {
  return hasDigits(octets) || hasInfinite(value);
}

/** Tells whether there are at least `DIGITS` digits in a row. */
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

/**
 * Tells whether a parsed value has an infinite number, which JSON lacks: it was beyond the range of
 * doubles.
 */
function hasInfinite(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (Array.isArray(value)) return value.some(hasInfinite);
  if (!isRecord(value)) return false;
  // Four times as fast as listing the values.
  for (const name in value) if (hasInfinite(value[name])) return true;
  return false;
}

/** The size from which numbers are written with an exponent, so that they claim no exact digits. */
const MANY = 1e21;

/** Explains why a parsed number may differ from the written one; undefined if it does not. */
export function lossOf(number: number): string | undefined {
  if (!Number.isFinite(number)) return "is a number beyond what a double has";
  const isRounded = Number.isInteger(number) && !Number.isSafeInteger(number);
  return isRounded && Math.abs(number) < MANY ? "is an integer beyond 2^53" : undefined;
}

/** Marks a text that stands for a number; random, so that no other text contains it. */
const MARK = `\0${randomBytes(12).toString("hex")} `;
const MARKED = new RegExp(
  `"${JSON.stringify(MARK).slice(1, -1).replace("\\", "\\\\")}([-+.\\dEe]+)"`,
  "g",
);

/** Replaces inexact numbers in JSON by marked texts, for a reader that writes it again. */
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

/** Restores the numbers of marked texts in JSON. */
export function restoreLost(json: string): string {
  return json.replace(MARKED, "$1");
}

const WRITTEN_MARK = Buffer.from(JSON.stringify(MARK).slice(1, -1));

/** Restores the numbers in octets of JSON, which must be whole messages. */
export function restoreOctets(octets: Uint8Array): Uint8Array {
  const json = asBuffer(octets);
  return json.includes(WRITTEN_MARK) ? Buffer.from(restoreLost(json.toString())) : octets;
}

/** Returns a value with marked texts for the numbers of its source that it lost. */
export function markedOf(value: unknown): unknown {
  const json = sourceOf(value);
  return json === undefined ? value : JSON.parse(markLost(Buffer.from(json)));
}

/** Tells whether a value contains marked texts. */
function isMarked(value: unknown): boolean {
  if (typeof value === "string") return value.startsWith(MARK);
  return isStructure(value) && Object.values(value).some(isMarked);
}

/**
 * Applies `change` to JSON, with inexact numbers kept to the digit.
 *
 * @param change takes the value, in which marked texts may stand for numbers
 */
export function rewriteExactly(
  octets: Uint8Array,
  change: (value: unknown) => unknown,
  indent = 0,
): string {
  return restoreLost(JSON.stringify(change(JSON.parse(markLost(octets))), undefined, indent));
}

/** Restores the numbers of a value with marked texts; it is later sent with the exact digits. */
export function readMarked(value: unknown): unknown {
  if (!isMarked(value)) return value;
  const json = restoreLost(JSON.stringify(value));
  const read: unknown = JSON.parse(json);
  return isStructure(read) ? shareEncoded(read, json) : read;
}

/** Parses JSON and notes its source if it has inexact numbers; undefined for invalid JSON. */
export function parseNoting(json: string): unknown {
  const value = parseJson(json);
  const isLossy = isStructure(value) && hasLostNumbers(Buffer.from(json), value);
  return isLossy ? noteSource(value, json) : value;
}

/** Builds a value around another one, whose numbers are sent as they were written. */
export function makeAround<T extends object>(value: unknown, make: (value: unknown) => T): T {
  const made = make(value);
  const json = sourceOf(value);
  return json === undefined ? made : shareEncoded(made, rewriteExactly(Buffer.from(json), make));
}
