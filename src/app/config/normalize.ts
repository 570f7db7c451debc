/**
 * Turns the tree of a file into values. A validated one gets the shape that the program works with: relative
 * paths become absolute, and snake_case becomes camelCase, once; the schema decides both, as a table's
 * keys are ours and a map's keys are the operator's. Of a refused one is left a draft without everything that is
 * malformed: nothing is served with it, but the other files of a deployment are checked against it, so
 * that one pass finds what is wrong with all of them.
 */
import { resolve } from "node:path";
import type { ErrorObject } from "ajv/dist/2020.js";
import { joinIndex, joinKey, unescapeToken } from "../../base/dotted-key.ts";
import { isRecord, recordIn } from "../../base/json-value.ts";
import type { Schema } from "../../schema/section-field.ts";

/** Sections that are handed on with the keys of the file: manifests show them so. */
const VERBATIM: ReadonlySet<string> = new Set(["apis"]);

/** Normalizes a whole file, whose relative paths start at `directory`. */
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

/** A URL whose parameters of these names are paths; everything else in it is left as it is. */
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

/** The name that a key of the file has in the program. */
export function toCamelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function asTable(value: unknown): Schema {
  return typeof value === "object" && value !== null ? (value as Schema) : {};
}

/** A tree without what is malformed. */
export interface DraftTree {
  readonly tree: Readonly<Record<string, unknown>>;
  /** The key in the file of what has a key in the tree. */
  keyInFile(key: string): string;
}

/** The tree to check the other files against. */
export function draftTree(
  tree: Readonly<Record<string, unknown>>,
  errors: readonly ErrorObject[],
): DraftTree {
  const draft = structuredClone(tree) as Record<string, unknown>;
  for (const { keyword, instancePath } of errors) {
    const place = parsePointer(instancePath);
    const item = place.findLastIndex((token) => /^\d+$/.test(token));
    // Unknown keys are looked at by nobody; an item may need what one of them was to say.
    if (keyword === "additionalProperties" && item === -1) continue;
    // A missing key is the fault of the table that lacks it.
    takeOut(draft, item === -1 ? place : place.slice(0, item + 1));
  }
  const shortened: ShortenedList[] = [];
  const whole = withoutGaps(draft, "", shortened) as Record<string, unknown>;
  // The rest is checked alike under any name.
  whole["server"] = { server_id: "nameless", ...recordIn(whole["server"]) };
  return { tree: whole, keyInFile: (key) => shortened.reduceRight(placeInFile, key) };
}

function parsePointer(pointer: string): readonly string[] {
  const tokens = pointer.split("/").slice(1);
  return tokens.map(unescapeToken);
}

/** Leaves a gap, so that the places of the items behind it stay the same. */
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

/** A list that lost items: its key, and the places that the others had. */
interface ShortenedList {
  readonly key: string;
  readonly places: readonly number[];
}

/** Lists that lost items are told of, each before those in its items. */
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

/** A key with the place that an item of one list has in the file. */
function placeInFile(key: string, { key: list, places }: ShortenedList): string {
  if (!key.startsWith(`${list}[`)) return key;
  const end = key.indexOf("]", list.length);
  const place = places[Number(key.slice(list.length + 1, end))];
  return place === undefined ? key : joinIndex(list, place) + key.slice(end + 1);
}
