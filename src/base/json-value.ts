/**
 * Values that came out of JSON or TOML, whoever wrote them: telling objects from the rest, naming a
 * value in a message without repeating more of it than a reader needs, and writing it.
 */

/** An object of parsed JSON; its members are anything. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** A record without the members that are undefined. */
type Given<T> = { [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name] } & {
  [Name in keyof T as undefined extends T[Name] ? Name : never]?: Exclude<T[Name], undefined>;
};

/** The members of a record that are there, in their order: those that are undefined are left out. */
export function given<T extends object>(members: T): Given<T> {
  const there = Object.entries(members).filter(([, member]) => member !== undefined);
  return Object.fromEntries(there) as Given<T>;
}

const MAX_QUOTED_LENGTH = 64;

/** Anything but printable ASCII that means itself in a JSON string. */
const NEEDS_ESCAPE = /[^ !#-[\]-~]/;

/** A text as JSON writes it. Most texts need no escape, and cost little then. */
export function jsonText(text: string): string {
  return NEEDS_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** The members of an object as JSON, without its braces. */
export function jsonMembers(value: JsonRecord): string {
  return JSON.stringify(value).slice(1, -1);
}

/** Tells whether a value is an object, as opposed to an array, null or a scalar. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Tells whether a value is an object or an array. */
export function isStructure(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** A value that should be an object; any other is one without members. */
export function recordIn(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

/** A value that should be a text; undefined for any other. */
export function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The items of a value that should be a list; any other has none. */
export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The texts of a value that should be a list of them. */
export function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** Tells whether a value is a list of texts. */
export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** The objects in a value that should be a list of them. */
export function recordsIn(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** A member of its own: a name that somebody chose may be one that every object has. */
export function memberOf<Value>(
  record: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/**
 * Sets a member of an object; one named __proto__ becomes a member as well. To set members one by one takes a third
 * of what spreading objects or `Object.fromEntries` takes.
 */
export function setMember(record: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== "__proto__") record[name] = value;
  else {
    const descriptor = { value, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(record, name, descriptor);
  }
}

/** The value that names lead to, from member to member; undefined where one is not there. */
export function valueAt(value: unknown, names: readonly string[]): unknown {
  return names.reduce<unknown>((owner, name) => memberOf(recordIn(owner), name), value);
}

/** The value that a text is in JSON; undefined, which JSON has not, where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object that a text is in JSON; undefined where it is anything else. */
export function parseRecord(text: string): JsonRecord | undefined {
  const value = parseJson(text);
  return isRecord(value) ? value : undefined;
}

/** The beginning of a text that may be hostile, and thousands of characters long. */
export function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** A value as a message quotes it: short, on one line, and never walking into what is nested. */
export function quoteValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(clip(value, MAX_QUOTED_LENGTH));
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}

/** The beginning of a message about a value. */
export function describeValue(value: unknown): string {
  return value === undefined ? "is missing" : `is ${quoteValue(value)}`;
}

/** With the `u` flag, a surrogate that is half of a pair does not match. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Tells whether a text has half of a surrogate pair, which UTF-8 cannot say. */
export function hasLoneSurrogate(text: string): boolean {
  return LONE_SURROGATE.test(text);
}

/** The text without the half of a surrogate pair that a cut may have left at its end. */
export function wellFormed(text: string): string {
  return /[\ud800-\udbff]/.test(text.slice(-1)) ? text.slice(0, -1) : text;
}

/** Tells whether a value is a number from 0 to 1. */
export function isFraction(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= 1;
}

/** Texts that are written as they are: ASCII without quotes, backslashes and controls. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Longer texts are left to `JSON.stringify`. */
const MAX_TEXT_LENGTH = 256;

/** So are objects with more members, which take longer piece by piece. */
const MAX_MEMBERS = 32;

/** The name of a member as it is written, first in its object and later. */
interface Opening {
  readonly first: string;
  readonly later: string;
}

/** Few, and begun anew when there are so many: an object may be a map by names that never come again. */
const openings = new Map<string, Opening>();
const MAX_NAMES = 1024;

/**
 * A value as `JSON.stringify` writes it, sooner where it is a small object of scalars, as most results of handlers are:
 * of an answer to a pipelined request, a twentieth. Undefined for what has no JSON form. Throws as that does, and
 * for numbers and dates that it would write as null.
 */
export function writeJson(value: unknown): string | undefined {
  return writeFlat(value) ?? writeNested(value);
}

/** They are looked for where there is a null, which takes a fifth of what writing does. */
function writeNested(value: unknown): string | undefined {
  const text: string | undefined = JSON.stringify(value);
  const place = text?.includes("null") ? placeOfNone(value) : undefined;
  if (place === undefined) return text;
  throw new TypeError(`${place || "the value"} is NaN, infinite or no date, and would be null`);
}

/** The JSON Pointer of a number or date that JSON has not, in a value that has a JSON form. */
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

/** By their numbers: to go through them by name takes several times as long. */
function placeInList(items: readonly unknown[]): string | undefined {
  for (let index = 0; index < items.length; index += 1) {
    const place = placeOfNone(items[index]);
    if (place !== undefined) return `/${index}${place}`;
  }
  return undefined;
}

/** Undefined: it is anything but a plain object of a few scalars. */
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
