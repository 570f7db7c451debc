/**
 * From a validated file to the shape the program works with: relative paths become absolute, and
 * snake_case becomes camelCase, once. The schema decides both: a table's keys are ours and are
 * converted, a map's keys are the operator's and stay.
 */
import { resolve } from "node:path";
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
  if (typeof value === "string") {
    return schema["isPath"] === true ? resolve(conversion.directory, value) : value;
  }
  if (Array.isArray(value)) {
    const items = asTable(schema["items"]);
    return value.map((item) => convert(item, items, conversion));
  }
  if (typeof value !== "object" || value === null) return value;
  const properties = asTable(schema["properties"]);
  const others = asTable(schema["additionalProperties"]);
  const entries = Object.entries(value).map(([key, member]): [string, unknown] => {
    if (!Object.hasOwn(properties, key)) return [key, convert(member, others, conversion)];
    const inner = VERBATIM.has(key) ? { ...conversion, rename: keepKey } : conversion;
    return [conversion.rename(key), convert(member, asTable(properties[key]), inner)];
  });
  return Object.fromEntries(entries);
}

function toCamelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function keepKey(key: string): string {
  return key;
}

function asTable(value: unknown): Schema {
  return typeof value === "object" && value !== null ? (value as Schema) : {};
}
