/**
 * Integers in JSON that no double has: one that is read and written again is another one, and no reader is told.
 * RFC 8259 §6
 */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";

/** A safe integer may have as many digits; one that is lost has no fewer. */
const DIGITS = 16;
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.e+-]*/gis;
const INTEGER = /^-?\d{16,}$/;

function isLost(token: string): boolean {
  if (!INTEGER.test(token)) return false;
  const number = Number(token);
  if (Number.isSafeInteger(number)) return false;
  return !Number.isFinite(number) || BigInt(token) !== BigInt(number);
}

/** Finds the first integer of JSON that would not be kept; undefined: all are. */
export function findLostInteger(octets: Uint8Array): string | undefined {
  if (!hasDigits(octets)) return undefined;
  const text = Buffer.from(octets.buffer, octets.byteOffset, octets.length).toString("latin1");
  for (const [token] of text.matchAll(TEXT_OR_NUMBER)) if (isLost(token)) return token;
  return undefined;
}

/** Tells whether there are so many digits in a row, by a look at every sixteenth octet: each request is asked. */
function hasDigits(octets: Uint8Array): boolean {
  for (let at = DIGITS - 1; at < octets.length; at += DIGITS) {
    if (!isDigit(octets[at])) continue;
    let [from, to] = [at, at];
    while (isDigit(octets[from - 1])) from -= 1;
    while (isDigit(octets[to + 1])) to += 1;
    if (to - from + 1 >= DIGITS) return true;
    at = to;
  }
  return false;
}

function isDigit(octet: number | undefined): boolean {
  return octet !== undefined && octet >= 0x30 && octet <= 0x39;
}

/** Stands in a text for a number: no text of anybody's has it. */
const MARK = `\0${randomBytes(12).toString("hex")} `;
const MARKED = new RegExp(
  `"${JSON.stringify(MARK).slice(1, -1).replace("\\", "\\\\")}(\\d+)"`,
  "g",
);

/**
 * Writes a text, which is JSON, again as it is after `change`, its integers to the digit.
 *
 * @param change takes the value of the text, in which texts may stand for numbers
 */
export function rewriteExactly(
  text: string,
  change: (value: unknown) => unknown,
  indent = 0,
): string {
  const numbers: string[] = [];
  const marked = text.replace(TEXT_OR_NUMBER, (token) => {
    if (!isLost(token)) return token;
    numbers.push(token);
    return JSON.stringify(`${MARK}${numbers.length - 1}`);
  });
  const written = JSON.stringify(change(JSON.parse(marked)), undefined, indent);
  return written.replace(MARKED, (mark, index) => numbers[Number(index)] ?? mark);
}
