/**
 * A value that a schema describes, for the schemas that people write: what the schema itself offers
 * (`examples`, `default`, `const`, `enum`), else the simplest value of its type within its bounds.
 * It is a proposal: whoever asks for it has it checked.   AGTP-API §6.4 "input_schema"
 */
import { isRecord, type JsonRecord } from "../base/json-value.ts";
import { FORMAT_EXAMPLES } from "./format-examples.ts";
import type { JsonSchema } from "./json-schema.ts";
import { resolveLocalReference } from "./local-reference.ts";
import { patternExample } from "./pattern-example.ts";

const MAX_DEPTH = 12;
/** Schemas looked at for one example: one that refers to itself could go on for ever. */
const MAX_STEPS = 2000;
const MAX_ITEMS = 16;
const MAX_TEXT_LENGTH = 1024;

/** A day to come for the first date of an example, the days after it for the others. */
const FIRST_DAY = Date.UTC(2030, 0, 15, 9);
const DAY_MS = 86_400_000;

/** Which members of objects an example has. */
export type ExampleExtent = "required" | "all";

/** A value for a schema; undefined where none comes to mind. */
export function schemaExample(schema: JsonSchema, extent: ExampleExtent): unknown {
  return new ExampleMaker(schema, extent).make(schema, 0);
}

class ExampleMaker {
  readonly #root: JsonSchema;
  readonly #extent: ExampleExtent;
  #steps = 0;
  #days = 0;

  constructor(root: JsonSchema, extent: ExampleExtent) {
    this.#root = root;
    this.#extent = extent;
  }

  make(given: unknown, depth: number): unknown {
    if (given === true) return "example";
    this.#steps += 1;
    if (!isRecord(given) || depth > MAX_DEPTH || this.#steps > MAX_STEPS) return undefined;
    const schema = this.#flatten(given, 0);
    const offered = offeredValue(schema);
    if (offered !== undefined) return offered;
    switch (typeOf(schema)) {
      case "object":
        return this.#object(schema, depth);
      case "array":
        return this.#array(schema, depth);
      case "integer":
      case "number":
        return numberExample(schema);
      case "boolean":
        return true;
      case "null":
        return null;
      default:
        return this.#text(schema);
    }
  }

  #text(schema: JsonRecord): string | undefined {
    const { format, pattern } = schema;
    if (pattern !== undefined || (format !== "date" && format !== "date-time")) {
      return textExample(schema);
    }
    const day = new Date(FIRST_DAY + this.#days * DAY_MS).toISOString();
    this.#days += 1;
    return format === "date" ? day.slice(0, 10) : day.replace(".000Z", "Z");
  }

  /** References, all of `allOf` and the first of other branches, as one set of keywords. */
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
    const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
    const required = namesIn(schema["required"]);
    const names = this.#extent === "all" ? [...Object.keys(properties), ...required] : required;
    const members = [...new Set(names)].map((name): [string, unknown] => {
      const property = Object.hasOwn(properties, name) ? properties[name] : true;
      return [name, this.make(property, depth + 1)];
    });
    return Object.fromEntries(members.filter(([, value]) => value !== undefined));
  }

  #array(schema: JsonRecord, depth: number): readonly unknown[] {
    const { prefixItems, items, minItems } = schema;
    const first: readonly unknown[] = Array.isArray(prefixItems) ? prefixItems : [];
    const least = Math.min(typeof minItems === "number" ? minItems : 0, MAX_ITEMS);
    const count = Math.max(least, this.#extent === "all" ? 1 : 0);
    const values = Array.from({ length: count }, (_, at) =>
      this.make(first[at] ?? items ?? true, depth + 1),
    );
    return schema["uniqueItems"] === true ? values.map(distinguish) : values;
  }
}

function distinguish(value: unknown, at: number): unknown {
  if (at === 0) return value;
  if (typeof value === "number") return value + at;
  return typeof value === "string" ? `${value}${at}` : value;
}

/** Lists of members add up; of other keywords the more particular one, which comes first, stays. */
function join(one: JsonRecord, other: JsonRecord): JsonRecord {
  const properties = [one["properties"], other["properties"]].filter(isRecord);
  const required = [...namesIn(one["required"]), ...namesIn(other["required"])];
  return {
    ...other,
    ...one,
    ...(properties.length === 0 ? {} : { properties: { ...properties[1], ...properties[0] } }),
    ...(required.length === 0 ? {} : { required }),
  };
}

function namesIn(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((name): name is string => typeof name === "string");
}

function offeredValue(schema: JsonRecord): unknown {
  const { examples, enum: values } = schema;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if (schema["default"] !== undefined) return schema["default"];
  if (Object.hasOwn(schema, "const")) return schema["const"];
  return Array.isArray(values) ? values[0] : undefined;
}

function typeOf(schema: JsonRecord): unknown {
  const { type } = schema;
  if (Array.isArray(type)) return type.find((one) => one !== "null") ?? type[0];
  if (type !== undefined) return type;
  if (schema["properties"] !== undefined || schema["required"] !== undefined) return "object";
  if (schema["items"] !== undefined || schema["prefixItems"] !== undefined) return "array";
  return ["minimum", "maximum", "multipleOf"].some((word) => Object.hasOwn(schema, word))
    ? "number"
    : "string";
}

function textExample(schema: JsonRecord): string | undefined {
  const { pattern, format, minLength, maxLength } = schema;
  const least = typeof minLength === "number" ? minLength : 0;
  if (least > MAX_TEXT_LENGTH) return undefined;
  if (typeof pattern === "string") return patternExample(pattern, least);
  const sample = typeof format === "string" ? FORMAT_EXAMPLES.get(format) : undefined;
  if (sample !== undefined) return sample;
  const text = "example".padEnd(least, "e");
  return typeof maxLength === "number" ? text.slice(0, maxLength) : text;
}

/** The plainest number within the bounds. */
function numberExample(schema: JsonRecord): number | undefined {
  const read = (keyword: string, otherwise: number): number => {
    const value = schema[keyword];
    return typeof value === "number" ? value : otherwise;
  };
  const step = read("multipleOf", typeOf(schema) === "integer" ? 1 : 0);
  const [least, most] = [read("minimum", -Infinity), read("maximum", Infinity)];
  const [above, below] = [read("exclusiveMinimum", -Infinity), read("exclusiveMaximum", Infinity)];
  const [from, to] = [Math.max(least, above), Math.min(most, below)];
  const unit = step === 0 ? 1 : step;
  const candidates = [1, 0, unit, from, to, from + unit, to - unit, (from + to) / 2];
  const onStep = candidates.flatMap((one) =>
    step === 0 ? [one] : [Math.ceil(one / step) * step, Math.floor(one / step) * step],
  );
  return onStep.find(
    (one) => Number.isFinite(one) && one >= least && one <= most && one > above && one < below,
  );
}
