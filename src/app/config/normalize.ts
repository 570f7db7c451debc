/**
 * Converts the tree of a file to values. In a valid one, relative paths become absolute and
 * snake_case keys camelCase; the schema tells a table's keys, which are ours, from a map's, which
 * are the operator's. A refused one is reduced to a draft without its malformed parts: it is never
 * served, but the deployment's other files are checked against it, so that one pass finds all
 * problems.
 */
import { resolve } from "node:path";
import type { ErrorObject } from "ajv/dist/2020.js";
import { joinIndex, joinKey, unescapeToken } from "../../base/dotted-key.ts";
import { isRecord, recordIn } from "../../base/json-value.ts";
import type { Schema } from "../../schema/section-field.ts";

/** Sections that keep the file's keys, since manifests show them. */
const VERBATIM: ReadonlySet<string> = new Set(["apis"]);

/** Converts a whole file; its relative paths start at `directory`. */
export function normalize(tree: unknown, schema: Schema, directory: string): unknown {
  return convert(tree, schema, { directory, rename: toCamelCase });
}

interface Conversion {
  readonly directory: string;
  readonly rename: (key: string) => string;
}

function convert(value: unknown, schema: Schema, conversion: Conversion): unknown {
  if (typeof value === "string") return convertText(value, schema, conversion);
  if (Array.isArray(value)) {
    const items = asTable(schema["items"]);
    return value.map((item) => convert(item, items, conversion));
  }
  if (typeof value !== "object" || value === null) return value;
  const properties = asTable(schema["properties"]);
  const others = asTable(schema["additionalProperties"]);
  const entries = Object.entries(value).map(([key, member]): [string, unknown] => {
    if (!Object.hasOwn(properties, key)) return [key, convert(member, others, conversion)];
    const inner = VERBATIM.has(key)
      ? { ...conversion, rename: (name: string) => name }
      : conversion;
    return [conversion.rename(key), convert(member, asTable(properties[key]), inner)];
  });
  return Object.fromEntries(entries);
}

function convertText(value: string, schema: Schema, { directory }: Conversion): string {
  if (schema["isPath"] === true) return resolve(directory, value);
  const named = schema["pathParameters"];
  return Array.isArray(named) ? resolveParameters(value, named, directory) : value;
}

/** Makes the paths in these parameters of a URL absolute; everything else is unchanged. */
function resolveParameters(url: string, named: readonly unknown[], directory: string): string {
  const [beforeQuery = "", ...query] = url.split("?");
  if (query.length === 0) return url;
  const parameters = query
    .join("?")
    .split("&")
    .map((parameter) => {
      const path = new URLSearchParams(parameter);
      const [[name, given] = ["", ""]] = path;
      if (!named.includes(name) || given === "") return parameter;
      return `${name}=${encodeURIComponent(resolve(directory, given))}`;
    });
  return `${beforeQuery}?${parameters.join("&")}`;
}

/** Returns the program's name for a key of the file. */
export function toCamelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function asTable(value: unknown): Schema {
  return typeof value === "object" && value !== null ? (value as Schema) : {};
}

/** A tree without its malformed parts. */
export interface DraftTree {
  readonly tree: Readonly<Record<string, unknown>>;
  /** Returns the file's key for a key of the tree. */
  keyInFile(key: string): string;
}

/** Builds the tree that the other files are checked against. */
export function draftTree(
  tree: Readonly<Record<string, unknown>>,
  errors: readonly ErrorObject[],
): DraftTree {
  const draft = structuredClone(tree) as Record<string, unknown>;
  for (const { keyword, instancePath } of errors) {
    const place = parsePointer(instancePath);
    const item = place.findLastIndex((token) => /^\d+$/.test(token));
    // Unknown keys are harmless, except in a list item, where one may be a misspelt required key.
    if (keyword === "additionalProperties" && item === -1) continue;
    // A missing key is an error of the table that lacks it.
    takeOut(draft, item === -1 ? place : place.slice(0, item + 1));
  }
  const shortened: ShortenedList[] = [];
  const whole = withoutGaps(draft, "", shortened) as Record<string, unknown>;
  // A name is filled in, since the other checks do not depend on it.
  whole["server"] = { server_id: "nameless", ...recordIn(whole["server"]) };
  return { tree: whole, keyInFile: (key) => shortened.reduceRight(placeInFile, key) };
}

function parsePointer(pointer: string): readonly string[] {
  const tokens = pointer.split("/").slice(1);
  return tokens.map(unescapeToken);
}

/** Removes a value; leaves a gap in a list, so that later indexes stay valid. */
function takeOut(draft: unknown, place: readonly string[]): void {
  const last = place.at(-1);
  if (last === undefined) return;
  let owner = draft;
  for (const name of place.slice(0, -1)) {
    if (typeof owner !== "object" || owner === null || !Object.hasOwn(owner, name)) return;
    owner = (owner as Record<string, unknown>)[name];
  }
  if (typeof owner === "object" && owner !== null && Object.hasOwn(owner, last)) {
    (owner as Record<string, unknown>)[last] = undefined;
  }
}

/** A list that lost items: its key, and the original indexes of the remaining ones. */
interface ShortenedList {
  readonly key: string;
  readonly places: readonly number[];
}

/** Removes the gaps, and adds each shortened list, outer ones before inner ones. */
function withoutGaps(value: unknown, key: string, shortened: ShortenedList[]): unknown {
  if (Array.isArray(value)) {
    const places = [...value.keys()].filter((place) => value[place] !== undefined);
    if (places.length < value.length) shortened.push({ key, places });
    return places.map((place, index) =>
      withoutGaps(value[place], joinIndex(key, index), shortened),
    );
  }
  if (!isRecord(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    members.map(([name, member]) => [name, withoutGaps(member, joinKey(key, name), shortened)]),
  );
}

/** Converts the index of a shortened list's item in a key to the file's. */
function placeInFile(key: string, { key: list, places }: ShortenedList): string {
  if (!key.startsWith(`${list}[`)) return key;
  const end = key.indexOf("]", list.length);
  const place = places[Number(key.slice(list.length + 1, end))];
  return place === undefined ? key : joinIndex(list, place) + key.slice(end + 1);
}
