/**
 * Values parsed from JSON or TOML: telling objects from others, quoting a bounded part of a value
 * in messages, and writing JSON.
 */

/** An object of parsed JSON, with members of any type. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** A record whose undefined members are optional. */
type Given<T> = { [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name] } & {
  [Name in keyof T as undefined extends T[Name] ? Name : never]?: Exclude<T[Name], undefined>;
};

/** Returns a record without its undefined members, in the same order. */
export function given<T extends object>(members: T): Given<T> {
  const there = Object.entries(members).filter(([, member]) => member !== undefined);
  return Object.fromEntries(there) as Given<T>;
}

const MAX_QUOTED_LENGTH = 64;

/** Any character other than printable ASCII without a special meaning in JSON strings. */
const NEEDS_ESCAPE = /[^ !#-[\]-~]/;

/** Writes a text as JSON; the common case without escapes is cheap. */
export function jsonText(text: string): string {
  return NEEDS_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** Writes the members of an object as JSON, without braces. */
export function jsonMembers(value: JsonRecord): string {
  return JSON.stringify(value).slice(1, -1);
}

/** Tells whether a value is an object, not an array, null or a scalar. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Tells whether a value is an object or an array. */
export function isStructure(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Returns the value if it is an object, or else an empty one. */
export function recordIn(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

/** Returns the value if it is a text. */
export function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Returns the items of a list; empty for another value. */
export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the texts in a list. */
export function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** Tells whether a value is a list of texts. */
export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** Returns the objects in a list. */
export function recordsIn(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Returns an own member, since a chosen name may be one that every object inherits. */
export function memberOf<Value>(
  record: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/**
 * Sets an own member, even one named __proto__. Setting members one by one takes a third of the
 * time of spreading objects or `Object.fromEntries`.
 */
export function setMember(record: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") record[name] = value;
  else {
    const descriptor = { value, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(record, name, descriptor);
  }
}

/** Returns the value at a path of member names; undefined if any is absent. */
export function valueAt(value: unknown, names: readonly string[]): unknown {
  return names.reduce<unknown>((owner, name) => memberOf(recordIn(owner), name), value);
}

/** Parses JSON; undefined, which is no JSON value, if it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses a JSON object; undefined for anything else. */
export function parseRecord(text: string): JsonRecord | undefined {
  const value = parseJson(text);
  return isRecord(value) ? value : undefined;
}

/** Cuts a text that may be hostile, and thousands of characters long. */
export function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** Quotes a value for a message: short, on one line, and without descending into it. */
export function quoteValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(clip(value, MAX_QUOTED_LENGTH));
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}

/** Describes a value, for the start of a message. */
export function describeValue(value: unknown): string {
  return value === undefined ? "is missing" : `is ${quoteValue(value)}`;
}

/** With the `u` flag only lone surrogates match. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Tells whether a text has a lone surrogate, which UTF-8 cannot encode. */
export function hasLoneSurrogate(text: string): boolean {
  return LONE_SURROGATE.test(text);
}

/** Removes a lone surrogate that a cut may have left at the end of a text. */
export function wellFormed(text: string): string {
  return /[\ud800-\udbff]/.test(text.slice(-1)) ? text.slice(0, -1) : text;
}

/** Tells whether a value is a number from 0 to 1. */
export function isFraction(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 1;
}

/** Texts that need no escapes: ASCII without quotes, backslashes and controls. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** The length up to which texts are written here; longer ones are left to `JSON.stringify`. */
const MAX_TEXT_LENGTH = 256;

/** The number of members up to which objects are written here, since larger ones take longer piece by piece. */
const MAX_MEMBERS = 32;

/** The start of a member as JSON, as the first of its object or a later one. */
interface Opening {
  readonly first: string;
  readonly later: string;
}

/** A bounded cache, cleared when it is full, since an object may be a map with names that never recur. */
const openings = new Map<string, Opening>();
const MAX_NAMES = 1024;

/**
 * Writes JSON like `JSON.stringify`, faster for a small object of scalars, as most handlers'
 * results are: a twentieth of a pipelined request. Undefined for a value without JSON form. Throws
 * as that does, and also for numbers and dates that it would write as null.
 */
export function writeJson(value: unknown): string | undefined {
  return writeFlat(value) ?? writeNested(value);
}

/** Such values are searched only if the text has a null; a search takes a fifth of the writing. */
function writeNested(value: unknown): string | undefined {
  const text: string | undefined = JSON.stringify(value);
  const place = text?.includes("null") ? placeOfNone(value) : undefined;
  if (place === undefined) return text;
  throw new TypeError(`${place || "the value"} is NaN, infinite or no date, and would be null`);
}

/** Returns the JSON Pointer of a number or date that JSON cannot represent. */
function placeOfNone(value: unknown): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "";
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) return placeInList(value);
  if (typeof (value as JsonRecord)["toJSON"] === "function") {
    return value instanceof Date && Number.isNaN(value.getTime()) ? "" : undefined;
  }
  for (const name in value) {
    const place = placeOfNone((value as JsonRecord)[name]);
    if (place !== undefined && Object.hasOwn(value, name)) return `/${name}${place}`;
  }
  return undefined;
}

/** By index, which is several times faster than by name. */
function placeInList(items: readonly unknown[]): string | undefined {
  for (let index = 0; index < items.length; index += 1) {
    const place = placeOfNone(items[index]);
    if (place !== undefined) return `/${index}${place}`;
  }
  return undefined;
}

/** Writes a plain object of a few scalars; undefined for anything else. */
function writeFlat(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (toJSON !== undefined || Object.getPrototypeOf(value) !== Object.prototype) return undefined;
  let text = "";
  let members = 0;
  for (const name in value) {
    if (!Object.hasOwn(value, name)) continue;
    members += 1;
    if (members > MAX_MEMBERS) return undefined;
    const known = openings.get(name) ?? keepOpening(name);
    const member: unknown = (value as Readonly<Record<string, unknown>>)[name];
    if (known === undefined) return undefined;
    const opening = text === "" ? known.first : known.later;
    if (typeof member === "string") {
      if (member.length > MAX_TEXT_LENGTH || !PLAIN.test(member)) return undefined;
      text += `${opening}"${member}"`;
    } else if (typeof member === "number") {
      if (!Number.isFinite(member)) return undefined;
      text += `${opening}${member}`;
    } else if (typeof member === "boolean" || member === null) text += `${opening}${member}`;
    else return undefined;
  }
  return text === "" ? "{}" : `${text}}`;
}

function keepOpening(name: string): Opening | undefined {
  if (name.length > MAX_TEXT_LENGTH || !PLAIN.test(name)) return undefined;
  if (openings.size >= MAX_NAMES) openings.clear();
  const opening = { first: `{"${name}":`, later: `,"${name}":` };
  openings.set(name, opening);
  return opening;
}
