/**
 * The few forms of JSON Schema that the configuration is written in, so that a key, its default
 * and its meaning stand on one line. Two annotations are ours: `expected` says in words what a
 * pattern accepts, `isPath` marks what is resolved against the file's directory. `writeOnly` marks
 * secrets, which no message quotes.
 */
import { MAX_TIMER_MS } from "../base/deadline.ts";

/** A JSON Schema, or a part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/** The property schemas of a table, by key. */
export type Properties = Readonly<Record<string, Schema>>;

/** A key without a default: it is absent when the operator writes none. */
export function optional(schema: Schema): Schema {
  const { default: _, ...rest } = schema;
  return rest;
}

/** Any text without control characters. */
export function text(value: string, description: string, more: Schema = {}): Schema {
  return {
    type: "string",
    default: value,
    description,
    maxLength: 4096,
    pattern: "^[^\\u0000-\\u001f\\u007f]+$",
    expected: "a text that is not empty and has no control characters",
    ...more,
  };
}

/** A file or directory, relative to the directory of the configuration file. */
export function path(value: string, description: string): Schema {
  return text(value, description, { pattern: "^[^\\u0000]+$", expected: "a path", isPath: true });
}

/** A whole number; `least` is 1 unless told. */
export function count(value: number, description: string, most: number, least = 1): Schema {
  return { type: "integer", default: value, description, minimum: least, maximum: most };
}

/** A duration in milliseconds. */
export function milliseconds(value: number, description: string, least = 1): Schema {
  return count(value, description, MAX_TIMER_MS, least);
}

/** A duration in seconds, up to ten years. */
export function seconds(value: number, description: string): Schema {
  return count(value, description, 315_360_000);
}

/** A TCP port; 0 asks the system for a free one. */
export function port(value: number, description: string): Schema {
  return count(value, description, 65_535, 0);
}

/** true or false. */
export function flag(value: boolean, description: string): Schema {
  return { type: "boolean", default: value, description };
}

/** One of a few words or numbers. */
export function choice(
  value: string | number,
  among: readonly (string | number)[],
  description: string,
): Schema {
  return { type: typeof value, enum: among, default: value, description };
}

/** A list, empty unless the operator writes one. */
export function list(items: Schema, description: string): Schema {
  return { type: "array", items: optional(items), default: [], description, maxItems: 10_000 };
}

/** A table whose keys are all known. Absent, it is filled with the defaults of its keys. */
export function table(
  description: string,
  properties: Properties,
  required: readonly string[] = [],
): Schema {
  return {
    type: "object",
    default: {},
    description,
    properties,
    required,
    additionalProperties: false,
  };
}

/** A table whose keys the operator chooses. */
export function map(keys: Schema, values: Schema, description: string): Schema {
  return {
    type: "object",
    default: {},
    description,
    propertyNames: optional(keys),
    additionalProperties: optional(values),
  };
}

/** One of a few words, the first being the default, or a list. */
export function wordOrList(words: readonly string[], items: Schema, description: string): Schema {
  const quoted = words.map((one) => JSON.stringify(one)).join(", ");
  return {
    default: words[0],
    description,
    if: { type: "array" },
    // biome-ignore lint/suspicious/noThenProperty: a JSON Schema keyword
    then: { type: "array", items: optional(items), maxItems: 10_000 },
    else: { enum: words, expected: `${quoted} or a list` },
  };
}

/** A text that matches a pattern; `expected` says in words what that is. */
export function word(
  value: string,
  matches: string,
  expected: string,
  description: string,
): Schema {
  return text(value, description, { pattern: matches, expected });
}
