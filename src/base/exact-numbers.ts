/**
 * Integers in JSON that a double does not keep: one that is read and written again is another one, and no reader is told.
 * RFC 8259 §6
 */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { endOfText, isDigit, MINUS, QUOTE } from "./json-octets.ts";

/** A safe integer may have as many digits; one that is lost has no fewer. */
const DIGITS = 16;
const INTEGER = /^-?\d{16,}$/;
/** The characters that a number has behind its first digit. */
const OF_NUMBERS: ReadonlySet<number> = new Set(Buffer.from("0123456789.eE+-"));

interface LostInteger {
  readonly token: string;
  /** Its octets. */
  readonly from: number;
  readonly to: number;
}

/** The integers that would not be kept, in order. Not by a regular expression: a text of megabytes overflows its stack. */
function* lostIntegers(octets: Buffer): Generator<LostInteger> {
  for (let at = 0; at < octets.length; at += 1) {
    if (octets[at] === QUOTE) at = endOfText(octets, at + 1);
    if (!isDigit(octets[at] ?? 0)) continue;
    const from = octets[at - 1] === MINUS ? at - 1 : at;
    while (OF_NUMBERS.has(octets[at + 1] ?? 0)) at += 1;
    if (at - from + 1 < DIGITS) continue;
    const token = octets.toString("latin1", from, at + 1);
    if (isLost(token)) yield { token, from, to: at + 1 };
  }
}

function isLost(token: string): boolean {
  if (!INTEGER.test(token)) return false;
  const number = Number(token);
  if (Number.isSafeInteger(number)) return false;
  return !Number.isFinite(number) || BigInt(token) !== writtenInteger(number);
}

/** The integer that a double is written as: the fewest digits that read as it, then zeros. It may have others itself. */
function writtenInteger(number: number): bigint {
  const [digits = "", exponent = "0"] = String(number).split("e+");
  const [whole = "", fraction = ""] = digits.split(".");
  return BigInt(whole + fraction.padEnd(Number(exponent), "0"));
}

/** Finds the first integer of JSON that would not be kept; undefined: all are. */
export function findLostInteger(octets: Uint8Array): string | undefined {
  if (!hasDigits(octets)) return undefined;
  const [first] = lostIntegers(asBuffer(octets));
  return first?.token;
}

function asBuffer(octets: Uint8Array): Buffer {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.length);
}

/** Tells whether there are so many digits in a row, by a look at every sixteenth octet: each request is asked. */
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

/** Stands in a text for a number: no text of anybody's has it. */
const MARK = `\0${randomBytes(12).toString("hex")} `;
const MARKED = new RegExp(
  `"${JSON.stringify(MARK).slice(1, -1).replace("\\", "\\\\")}(\\d+)"`,
  "g",
);

/**
 * Writes JSON again as it is after `change`, its integers to the digit.
 *
 * @param change takes the value, in which texts may stand for numbers
 */
export function rewriteExactly(
  octets: Uint8Array,
  change: (value: unknown) => unknown,
  indent = 0,
): string {
  const json = asBuffer(octets);
  const tokens: string[] = [];
  let marked = "";
  let done = 0;
  for (const { token, from, to } of lostIntegers(json)) {
    marked += json.toString("utf8", done, from) + JSON.stringify(`${MARK}${tokens.length}`);
    tokens.push(token);
    done = to;
  }
  marked += json.toString("utf8", done);
  const written = JSON.stringify(change(JSON.parse(marked)), undefined, indent);
  return written.replace(MARKED, (mark, index) => tokens[Number(index)] ?? mark);
}
