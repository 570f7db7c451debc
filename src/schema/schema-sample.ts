/**
 * Generates a sample value for a schema of common form: a value that the schema offers (`const`,
 * `examples`, `default`, `enum`), or the simplest value of its type within its bounds. The result
 * is deterministic, but a guess that must be checked before use.   AGTP-API §6.4 "input_schema"
 */
import { isRecord, type JsonRecord, listIn, recordIn, textsIn } from "../base/json-value.ts";
import type { JsonSchema } from "./json-schema.ts";
import { resolveLocalReference } from "./local-reference.ts";
import { patternExample } from "./pattern-example.ts";

const MAX_DEPTH = 12;
/** The maximum number of schemas visited for one sample, since a schema may be recursive. */
const MAX_STEPS = 2000;
const MAX_ITEMS = 64;
const MAX_TEXT_LENGTH = 1024;
const DAY_MS = 86_400_000;

/** The members of a sample's objects. */
export type SampleExtent = "required" | "all";

/** The style of a sample: its size and its words. */
interface SampleOptions {
  readonly extent?: SampleExtent;
  readonly style?: SampleStyle;
}

/** Returns a sample value; undefined if none is found. */
export function schemaSample(
  schema: unknown,
  { extent = "required", style = EXAMPLE_STYLE }: SampleOptions = {},
): unknown {
  return new Sampler(schema, extent, style).make(schema, 0);
}

class Sampler {
  readonly #root: JsonSchema;
  readonly #extent: SampleExtent;
  readonly #style: SampleStyle;
  #steps = 0;
  #days = 0;

  constructor(root: unknown, extent: SampleExtent, style: SampleStyle) {
    this.#root = recordIn(root);
    this.#extent = extent;
    this.#style = style;
  }

  make(given: unknown, depth: number): unknown {
    if (given === true) return this.#style.word;
    this.#steps += 1;
    if (!isRecord(given) || depth > MAX_DEPTH || this.#steps > MAX_STEPS) return undefined;
    const schema = this.#flatten(given, 0);
    const offered = offeredValue(schema);
    if (offered !== undefined) return offered;
    switch (typeOf(schema, this.#style.untyped)) {
      case "object":
        return this.#object(schema, depth);
      case "array":
        return this.#array(schema, depth);
      case "integer":
      case "number":
        return sampleNumber(schema, this.#style.number);
      case "boolean":
        return true;
      case "null":
        return null;
      default:
        return this.#text(schema);
    }
  }

  #text({ pattern, format, minLength, maxLength }: JsonRecord): string | undefined {
    const { word, padding, formats, firstDay, readsPatterns } = this.#style;
    const least = typeof minLength === "number" ? minLength : 0;
    if (least > MAX_TEXT_LENGTH) return undefined;
    if (typeof pattern === "string" && readsPatterns) return patternExample(pattern, least);
    if (firstDay !== undefined && (format === "date" || format === "date-time")) {
      const day = new Date(firstDay + this.#days * DAY_MS).toISOString();
      this.#days += 1;
      return format === "date" ? day.slice(0, 10) : day.replace(".000Z", "Z");
    }
    const formatted = typeof format === "string" ? formats.get(format) : undefined;
    if (formatted !== undefined) return formatted;
    const text = word.padEnd(least, padding);
    return typeof maxLength === "number" ? text.slice(0, maxLength) : text;
  }

  /** Combines references, all of `allOf` and the first of other branches to one set of keywords. */
  #flatten(schema: JsonRecord, steps: number): JsonRecord {
    const { $ref, allOf, anyOf, oneOf, ...own } = schema;
    this.#steps += 1;
    if (steps > MAX_DEPTH || this.#steps > MAX_STEPS) return own;
    const parts: unknown[] = [];
    if (typeof $ref === "string") parts.push(resolveLocalReference($ref, this.#root));
    if (Array.isArray(allOf)) parts.push(...allOf);
    for (const branches of [anyOf, oneOf]) if (Array.isArray(branches)) parts.push(branches[0]);
    return parts.reduce<JsonRecord>(
      (joined, part) => (isRecord(part) ? join(joined, this.#flatten(part, steps + 1)) : joined),
      own,
    );
  }

  #object(schema: JsonRecord, depth: number): JsonRecord {
    const properties = recordIn(schema["properties"]);
    const required = textsIn(schema["required"]);
    const names = this.#extent === "all" ? [...Object.keys(properties), ...required] : required;
    const members = [...new Set(names)].map((name): [string, unknown] => {
      const property = Object.hasOwn(properties, name) ? properties[name] : true;
      return [name, this.make(property, depth + 1)];
    });
    return Object.fromEntries(members.filter(([, value]) => value !== undefined));
  }

  #array(schema: JsonRecord, depth: number): readonly unknown[] {
    const { prefixItems, items, contains, minItems, minContains = 1 } = schema;
    const first = listIn(prefixItems);
    const wanted = [
      minItems,
      contains === undefined ? 0 : minContains,
      Number(this.#extent === "all"),
    ];
    const count = Math.max(0, ...wanted.filter((one) => typeof one === "number"));
    const values = Array.from({ length: Math.min(count, MAX_ITEMS) }, (_, at) =>
      this.make(first[at] ?? contains ?? items ?? true, depth + 1),
    );
    return schema["uniqueItems"] === true ? values.map(distinguish) : values;
  }
}

function distinguish(value: unknown, at: number): unknown {
  if (at === 0) return value;
  if (typeof value === "number") return value + at;
  return typeof value === "string" ? `${value}${at}` : value;
}

/** Combines keywords: lists of members are concatenated, and of others the first, more specific one wins. */
function join(one: JsonRecord, other: JsonRecord): JsonRecord {
  const properties = [one["properties"], other["properties"]].filter(isRecord);
  const required = [...textsIn(one["required"]), ...textsIn(other["required"])];
  return {
    ...other,
    ...one,
    ...(properties.length === 0 ? {} : { properties: { ...properties[1], ...properties[0] } }),
    ...(required.length === 0 ? {} : { required }),
  };
}

function offeredValue(schema: JsonRecord): unknown {
  const { examples, enum: values } = schema;
  if (Object.hasOwn(schema, "const")) return schema["const"];
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if (schema["default"] !== undefined) return schema["default"];
  return Array.isArray(values) ? values[0] : undefined;
}

function typeOf(schema: JsonRecord, untyped: "string" | "object"): unknown {
  const { type } = schema;
  if (Array.isArray(type)) return type.find((one) => one !== "null") ?? type[0];
  if (type !== undefined) return type;
  if (schema["properties"] !== undefined || schema["required"] !== undefined) return "object";
  if (schema["items"] !== undefined || schema["prefixItems"] !== undefined) return "array";
  const hasAny = (...keywords: string[]): boolean =>
    keywords.some((keyword) => Object.hasOwn(schema, keyword));
  if (hasAny("minimum", "maximum", "multipleOf")) return "number";
  return hasAny("minLength", "format", "pattern") ? "string" : untyped;
}

function sampleNumber(schema: JsonRecord, simplest: 0 | 1): number | undefined {
  const read = (keyword: string, otherwise: number): number => {
    const value = schema[keyword];
    return typeof value === "number" ? value : otherwise;
  };
  const step = read("multipleOf", typeOf(schema, "string") === "integer" ? 1 : 0);
  const [least, most] = [read("minimum", -Infinity), read("maximum", Infinity)];
  const [above, below] = [read("exclusiveMinimum", -Infinity), read("exclusiveMaximum", Infinity)];
  const [from, to] = [Math.max(least, above), Math.min(most, below)];
  const unit = step === 0 ? 1 : step;
  const candidates = [
    simplest,
    1 - simplest,
    unit,
    from,
    to,
    from + unit,
    to - unit,
    (from + to) / 2,
  ];
  const onStep = candidates.flatMap((one) =>
    step === 0 ? [one] : [Math.ceil(one / step) * step, Math.floor(one / step) * step],
  );
  return onStep.find(
    (one) => Number.isFinite(one) && one >= least && one <= most && one > above && one < below,
  );
}

/** The values that a sample is built from. */
interface SampleStyle {
  readonly word: string;
  /** Appended to the word if the text must be longer. */
  readonly padding: string;
  readonly number: 0 | 1;
  /** The type of a schema that declares none. */
  readonly untyped: "string" | "object";
  /** True if texts are generated from patterns. */
  readonly readsPatterns: boolean;
  readonly formats: ReadonlyMap<string, string>;
  /** The first date, in milliseconds since the epoch; further dates are the following days. */
  readonly firstDay?: number;
}

/** An example text for each format, except dates. */
const FORMAT_EXAMPLES: ReadonlyMap<string, string> = new Map([
  ["time", "09:00:00Z"],
  ["duration", "P1D"],
  ["email", "agent@example.com"],
  ["idn-email", "agent@example.com"],
  ["hostname", "example.com"],
  ["idn-hostname", "example.com"],
  ["ipv4", "192.0.2.1"],
  ["ipv6", "2001:db8::1"],
  ["uri", "https://example.com/"],
  ["url", "https://example.com/"],
  ["iri", "https://example.com/"],
  ["uri-reference", "/example"],
  ["iri-reference", "/example"],
  ["uri-template", "/example/{id}"],
  ["uuid", "0196f0a0-0000-7000-8000-000000000000"],
  ["json-pointer", "/example"],
  ["relative-json-pointer", "0"],
  ["regex", "^example$"],
  ["byte", "ZXhhbXBsZQ=="],
]);

/** Values that a caller could send, with dates in the future. */
const EXAMPLE_STYLE: SampleStyle = {
  word: "example",
  padding: "e",
  number: 1,
  untyped: "string",
  readsPatterns: true,
  formats: FORMAT_EXAMPLES,
  firstDay: Date.UTC(2030, 0, 15, 9),
};

/** Minimal values. */
export const PLAIN_STYLE: SampleStyle = {
  word: "text",
  padding: ".",
  number: 0,
  untyped: "object",
  readsPatterns: false,
  formats: new Map([
    ...FORMAT_EXAMPLES,
    ["date-time", "1970-01-01T00:00:00Z"],
    ["date", "1970-01-01"],
    ["time", "00:00:00Z"],
    ["duration", "PT0S"],
    ["uri-reference", "/"],
    ["uuid", "00000000-0000-0000-0000-000000000000"],
    ["json-pointer", ""],
    ["regex", ""],
  ]),
};
