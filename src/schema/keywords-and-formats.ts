/**
 * Keywords and formats of JSON Schema that are more correct or cheaper here than the validator's
 * own. They replace its own, and the interpreter of proposed schemas has the same.
 */

import {
  _,
  type CodeKeywordDefinition,
  type Format,
  type KeywordCxt,
  Name,
  nil,
  str,
  stringify,
} from "ajv";
import { fullFormats } from "ajv-formats/dist/formats.js";
import { isStructure } from "../base/json-value.ts";
import { parseUrl } from "../base/url-text.ts";
import { isEmail, isHostname, isIpv6Address } from "./name-formats.ts";
import { isPattern } from "./schema-vocabulary.ts";
import { isIri, isIriReference, isUri, isUriReference, isUriTemplate } from "./uri-format.ts";

/**
 * `enum`, `const`, `uniqueItems` and `multipleOf`. The first three compare whole values: the
 * validator's own comparison throws on a member named `valueOf`, and compares each item with every
 * other one, so that a body of a megabyte could keep the daemon busy for minutes. Here values are
 * compared by their canonical text, in time linear in their size. `multipleOf` uses the decimals as
 * written: 19.99 is a multiple of 0.01, although the quotient of the two floating-point numbers,
 * which the validator's own keyword computes, is not whole. The code of each names functions of
 * this file.
 */
export const KEYWORDS: readonly (CodeKeywordDefinition & { readonly keyword: string })[] = [
  {
    keyword: "enum",
    schemaType: "array",
    error: {
      message: "must be one of the allowed values",
      params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}}`,
    },
    code: (context) => requireMembership(context, context.schema),
  },
  {
    keyword: "const",
    error: {
      message: "must be the allowed value",
      params: ({ schemaCode }) => _`{allowedValue: ${schemaCode}}`,
    },
    code: (context) => requireMembership(context, [context.schema]),
  },
  {
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    error: { message: "must not have duplicate items" },
    code(context) {
      if (context.schema === false) return;
      context.pass(_`${useFunction(context, hasUniqueItems)}(${context.data})`);
    },
  },
  {
    keyword: "multipleOf",
    type: "number",
    schemaType: "number",
    error: {
      message: ({ schemaCode }) => str`must be multiple of ${schemaCode}`,
      params: ({ schemaCode }) => _`{multipleOf: ${schemaCode}}`,
    },
    code(context) {
      const { data, schemaCode } = context;
      context.pass(_`${useFunction(context, isMultipleOf)}(${data}, ${schemaCode})`);
    },
  },
];

function requireMembership(context: KeywordCxt, values: readonly unknown[]): void {
  const { gen, it } = context;
  const makes = new Name(compileMembership.name);
  const code = it.opts.code.source ? _`${makes}(${stringify(values)})` : nil;
  const isMember = gen.scopeValue("keyword", { ref: compileMembership(values), code });
  context.pass(_`${isMember}(${context.data})`);
}

function useFunction({ gen }: KeywordCxt, ref: { readonly name: string }): Name {
  return gen.scopeValue("keyword", { ref, code: _`${new Name(ref.name)}` });
}

/** Returns a test for values that equal one of these. */
export function compileMembership(values: readonly unknown[]): (value: unknown) => boolean {
  const scalars = new Set(values.filter((value) => !isStructure(value)));
  const structures = new Set(values.filter(isStructure).map(sortedText));
  return (value) => {
    if (!isStructure(value)) return scalars.has(value);
    return structures.size > 0 && structures.has(sortedText(value));
  };
}

/** Tells whether no two items are equal. */
export function hasUniqueItems(items: readonly unknown[]): boolean {
  const scalars = new Set<unknown>();
  const structures = new Set<string>();
  for (const item of items) {
    if (isStructure(item)) structures.add(sortedText(item));
    else scalars.add(item);
  }
  return scalars.size + structures.size === items.length;
}

/**
 * Returns JSON with sorted members, equal for equal values. Not RFC 8785, which refuses some texts
 * that JSON can hold.
 */
export function sortedText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(",")}]`;
  if (!isStructure(value)) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${sortedText(member)}`,
  );
  return `{${members.sort().join(",")}}`;
}

/** Value, factor and their product each have a relative error of at most half of this. */
const TOLERANCE = 2 * Number.EPSILON;

/** Tells whether a value is an integer multiple of a positive factor. */
export function isMultipleOf(value: number, factor: number): boolean {
  // The remainder of whole numbers is exact.
  if (Number.isInteger(value) && Number.isInteger(factor)) return value % factor === 0;
  const times = Math.round(value / factor);
  if (Number.isFinite(value) && !Number.isSafeInteger(times))
    return isDecimalMultipleOf(String(value), String(factor));
  return Math.abs(times * factor - value) <= TOLERANCE * Math.abs(value);
}

function isDecimalMultipleOf(value: string, factor: string): boolean {
  const [digits, exponent] = readDecimal(value);
  const [factorDigits, factorExponent] = readDecimal(factor);
  const least = Math.min(exponent, factorExponent);
  const scaled = (some: bigint, by: number): bigint => some * 10n ** BigInt(by - least);
  return scaled(digits, exponent) % scaled(factorDigits, factorExponent) === 0n;
}

/** Reads the digits and the power of ten of a number as JavaScript writes it. */
function readDecimal(text: string): readonly [bigint, number] {
  const [mantissa = "", exponent = "0"] = text.split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
/** `duration` of RFC 3339 Appendix A. */
const DURATION =
  /^P(?!$|T$)(?:\d+W|(?:\d+D|\d+M(?:\d+D)?|\d+Y(?:\d+M(?:\d+D)?)?)?(?:T(?:\d+S|\d+M(?:\d+S)?|\d+H(?:\d+M(?:\d+S)?)?))?)$/;
const URL_SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "ftp:"]);

/**
 * Formats by name, each checked in time linear in the text: those of JSON Schema 2020-12 and, for
 * descriptions from OpenAPI, OpenAPI's own.
 */
export const FORMATS: ReadonlyMap<string, Format> = new Map<string, Format>([
  ...Object.entries(fullFormats),
  // The package's own also accepts `urn:uuid:…`, which is a URI and not a UUID.
  ["uuid", UUID],
  // The package's own permits a year before days.
  ["duration", DURATION],
  // The package's own makes a match and three numbers, at half the cost of a small schema.
  ["date", isDate],
  // The package's own accept an offset without minutes or colon, which Date cannot read.
  ["time", isTime],
  ["date-time", isDateTime],
  // The package's own keep a backtracking point for each character, and overflow the stack on a
  // long text.
  ["uri", isUri],
  ["uri-reference", isUriReference],
  ["iri", isIri],
  ["iri-reference", isIriReference],
  ["uri-template", isUriTemplate],
  ["email", isEmail],
  ["hostname", isHostname],
  ["ipv6", isIpv6Address],
  ["json-pointer", isJsonPointer],
  ["relative-json-pointer", isRelativeJsonPointer],
  ["regex", isRegex],
  // The package's own takes a second for a long text.
  ["iso-time", isIsoTime],
  ["iso-date-time", isIsoDateTime],
  // The package's own backtracks quadratically on "http://::::…".
  ["url", isUrl],
  // The package's own checks only the last line.
  ["byte", isBase64],
  // The package's own accepts integers of any size.
  ["int64", { type: "number", validate: isInt64 }],
  // Not checked, since a full check needs large Unicode tables.
  ["idn-email", true],
  ["idn-hostname", true],
]);

function isUrl(text: string): boolean {
  return !/\s/.test(text) && URL_SCHEMES.has(parseUrl(text)?.protocol ?? "");
}

/** A JSON Pointer of RFC 6901 §3. */
function isJsonPointer(text: string): boolean {
  return /^(?:\/|$)/.test(text) && !/~(?![01])/.test(text);
}

/** A relative JSON Pointer of draft-bhutton-relative-json-pointer-00 §3. */
function isRelativeJsonPointer(text: string): boolean {
  const [prefix] = /^(?:0|[1-9]\d*)/.exec(text) ?? [];
  if (prefix === undefined) return false;
  const rest = text.slice(prefix.length);
  return rest === "#" || isJsonPointer(rest);
}

/** The engine takes a second to parse a pattern of a megabyte. */
const MAX_REGEX_LENGTH = 65_536;

/** A regular expression as in `pattern`. */
function isRegex(text: string): boolean {
  return text.length <= MAX_REGEX_LENGTH && isPattern(text);
}

/** Base64 of RFC 4648 §4, with padding. */
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[a-z0-9+/]*={0,2}$/i.test(text);
}

function isInt64(value: number): boolean {
  return Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63;
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

const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i;
const MINUTES_A_DAY = 1_440;

/** `full-time` of RFC 3339; a leap second must end a day in UTC. */
function isTime(text: string): boolean {
  const [whole, hour, minute, second, sign, ...offset] = TIME.exec(text) ?? [];
  if (whole === undefined) return false;
  const [awayHours, awayMinutes] = offset.map((part) => Number(part ?? 0)) as [number, number];
  const inRange = Number(hour) < 24 && Number(minute) < 60 && awayHours < 24 && awayMinutes < 60;
  if (!inRange || Number(second) > 60) return false;
  if (Number(second) < 60) return true;
  const away = (awayHours * 60 + awayMinutes) * (sign === "-" ? -1 : 1);
  const ofDay = Number(hour) * 60 + Number(minute) - away;
  return (ofDay + MINUTES_A_DAY) % MINUTES_A_DAY === MINUTES_A_DAY - 1;
}

/** `date-time` of RFC 3339, with T or a space. */
function isDateTime(text: string): boolean {
  return /^[t ]$/i.test(text.charAt(10)) && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

/** A time of ISO 8601, whose offset may be absent, or lack its minutes or colon. */
function isIsoTime(text: string): boolean {
  const offset = (_: string, hours: string, minutes = "00"): string => `${hours}:${minutes}`;
  return [text, `${text}Z`, text.replace(/([+-]\d\d)(\d\d)?$/, offset)].some(isTime);
}

function isIsoDateTime(text: string): boolean {
  return /^[t\s]$/i.test(text.charAt(10)) && isDate(text.slice(0, 10)) && isIsoTime(text.slice(11));
}

/** Returns NaN, which fails every comparison, if there is anything but digits. */
function readDigits(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    value = digit >= 0 && digit <= 9 ? value * 10 + digit : Number.NaN;
  }
  return value;
}

/** Returns the test of a format; values of other types pass. */
export function compileFormatTest(format: Format): ((value: unknown) => boolean) | undefined {
  if (typeof format === "boolean") return undefined;
  const isDefined = typeof format === "object" && "validate" in format;
  const type = (isDefined ? format.type : undefined) ?? "string";
  const test: unknown = isDefined ? format.validate : format;
  if (typeof test === "function") {
    return (value) => typeof value !== type || Boolean(Reflect.apply(test, undefined, [value]));
  }
  const regex = new RegExp(test instanceof RegExp ? test : String(test));
  return (value) => typeof value !== "string" || regex.test(value);
}
