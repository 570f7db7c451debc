/**
 * The formats that schemas may name, each checked in time linear in the text. They are those of
 * JSON Schema 2020-12 and, for descriptions that come from OpenAPI, its own.
 */
import type { Format } from "ajv";
import { fullFormats } from "ajv-formats/dist/formats.js";

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const URL_SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "ftp:"]);

/** Formats by name. */
export const FORMATS: ReadonlyMap<string, Format> = new Map<string, Format>([
  ...Object.entries(fullFormats),
  // The package's own also takes `urn:uuid:…`, which is a URI and not the UUID in it.
  ["uuid", UUID],
  // The package's own makes a match and three numbers of it, at half the cost of a small schema.
  ["date", isDate],
  // The package's own backtracks quadratically on "http://::::…".
  ["url", isUrl],
  // Annotations: their full check needs tables of Unicode that nobody should have to load.
  ["idn-email", true],
  ["idn-hostname", true],
  ["iri", true],
  ["iri-reference", true],
]);

function isUrl(text: string): boolean {
  return !/\s/.test(text) && URL.canParse(text) && URL_SCHEMES.has(new URL(text).protocol);
}

const DAYS_IN_MONTH: readonly number[] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** `full-date` of RFC 3339. */
function isDate(text: string): boolean {
  if (text.length !== 10 || text[4] !== "-" || text[7] !== "-") return false;
  const year = readDigits(text, 0, 4);
  const month = readDigits(text, 5, 7);
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = isLeap && month === 2 ? 29 : (DAYS_IN_MONTH[month - 1] ?? 0);
  const day = readDigits(text, 8, 10);
  return year >= 0 && day >= 1 && day <= days;
}

/** NaN, which compares to nothing, where there is anything but a digit. */
function readDigits(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    value = digit >= 0 && digit <= 9 ? value * 10 + digit : Number.NaN;
  }
  return value;
}
