/**
 * A value of a schema, always the same one: as small as the schema allows, made without looking at
 * anything but the schema. Where keywords ask for more than this can see, the value is wrong, and
 * whoever asked for it finds that out by checking.
 */

import { isRecord } from "../../../base/json-value.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { resolveLocalReference } from "../../../schema/local-reference.ts";

const MAX_DEPTH = 16;
const MAX_ITEMS = 64;
const MAX_LENGTH = 1024;
/** A schema may ask for any number of members, each of which may ask for as many. */
const MAX_VALUES = 4096;

const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "1970-01-01T00:00:00Z",
  date: "1970-01-01",
  time: "00:00:00Z",
  duration: "PT0S",
  email: "agent@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  "uri-reference": "/",
  uuid: "00000000-0000-0000-0000-000000000000",
  "json-pointer": "",
  regex: "",
};

/** The value. */
export function sampleValue(schema: JsonSchema): unknown {
  return new Sampler(schema).sample(schema, MAX_DEPTH);
}

class Sampler {
  readonly #root: JsonSchema;
  #left = MAX_VALUES;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  sample(schema: unknown, depth: number): unknown {
    this.#left -= 1;
    if (!isRecord(schema) || depth === 0 || this.#left < 0) return null;
    const whole = this.#unfold(schema, depth);
    if ("const" in whole) return whole["const"];
    const listed = [whole["enum"], whole["examples"]].find((list) => Array.isArray(list));
    if (Array.isArray(listed) && listed.length > 0) return listed[0];
    if ("default" in whole) return whole["default"];
    switch (typeOf(whole)) {
      case "string":
        return sampleText(whole);
      case "integer":
        return sampleNumber(whole, 1);
      case "number":
        return sampleNumber(whole, 0);
      case "boolean":
        return true;
      case "array":
        return this.#sampleArray(whole, depth);
      case "object":
        return this.#sampleObject(whole, depth);
      default:
        return null;
    }
  }

  /** What a schema says together with those it refers to, the first of each choice. */
  #unfold(schema: JsonSchema, depth: number): JsonSchema {
    const { $ref, allOf, oneOf, anyOf, ...own } = schema;
    const parts = [
      ...(typeof $ref === "string" ? [resolveLocalReference($ref, this.#root)] : []),
      ...(Array.isArray(allOf) ? allOf : []),
      ...(Array.isArray(oneOf) ? oneOf.slice(0, 1) : []),
      ...(Array.isArray(anyOf) ? anyOf.slice(0, 1) : []),
    ].filter(isRecord);
    this.#left -= parts.length;
    if (depth === 0 || this.#left < 0) return own;
    return parts.map((part) => this.#unfold(part, depth - 1)).reduce(join, own);
  }

  #sampleArray(schema: JsonSchema, depth: number): readonly unknown[] {
    const first = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : [];
    const least = Math.max(bound(schema["minItems"], 0), bound(schema["minContains"], 0));
    const length = Math.min(least, MAX_ITEMS);
    const items = schema["contains"] ?? schema["items"];
    return Array.from({ length }, (_, index) => this.sample(first[index] ?? items, depth - 1));
  }

  #sampleObject(schema: JsonSchema, depth: number): Readonly<Record<string, unknown>> {
    const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
    const required = Array.isArray(schema["required"]) ? schema["required"] : [];
    const names = required.filter((name) => typeof name === "string");
    return Object.fromEntries(
      names.map((name) => [
        name,
        this.sample(
          Object.hasOwn(properties, name) ? properties[name] : schema["additionalProperties"],
          depth - 1,
        ),
      ]),
    );
  }
}

/** Two schemas of one value; members and requirements of both. */
function join(a: JsonSchema, b: JsonSchema): JsonSchema {
  const properties = [a["properties"], b["properties"]].filter(isRecord);
  const required = [a["required"], b["required"]].filter(Array.isArray).flat();
  return {
    ...b,
    ...a,
    ...(properties.length === 0 ? {} : { properties: Object.assign({}, ...properties) }),
    ...(required.length === 0 ? {} : { required: [...new Set(required)] }),
  };
}

function typeOf(schema: JsonSchema): unknown {
  const { type } = schema;
  if (Array.isArray(type)) return type.find((one) => one !== "null") ?? "null";
  if (type !== undefined) return type;
  if ("properties" in schema || "required" in schema) return "object";
  if ("items" in schema || "prefixItems" in schema) return "array";
  if ("minLength" in schema || "format" in schema || "pattern" in schema) return "string";
  return "minimum" in schema || "maximum" in schema ? "number" : "object";
}

function sampleText(schema: JsonSchema): string {
  const format = schema["format"];
  const text = typeof format === "string" ? (FORMATS[format] ?? "text") : "text";
  const least = Math.min(bound(schema["minLength"], 0), MAX_LENGTH);
  const padded = text.padEnd(least, ".");
  return format === undefined ? padded.slice(0, bound(schema["maxLength"], padded.length)) : padded;
}

function sampleNumber(schema: JsonSchema, step: 0 | 1): number {
  const grain = bound(schema["multipleOf"], step);
  const least = Math.max(
    bound(schema["minimum"], Number.NEGATIVE_INFINITY),
    beyond(schema["exclusiveMinimum"], grain, Number.NEGATIVE_INFINITY),
  );
  const most = Math.min(
    bound(schema["maximum"], Number.POSITIVE_INFINITY),
    beyond(schema["exclusiveMaximum"], -grain, Number.POSITIVE_INFINITY),
  );
  const value = Math.min(Math.max(0, least), most);
  return grain === 0 ? value : Math.ceil(value / grain) * grain;
}

/** Some way past an exclusive bound. */
function beyond(limit: unknown, by: number, otherwise: number): number {
  if (typeof limit !== "number") return otherwise;
  return limit + (by === 0 ? Math.sign(otherwise) * -0.5 : by);
}

function bound(value: unknown, otherwise: number): number {
  return typeof value === "number" && Number.isFinite(value) ? value : otherwise;
}
