/**
 * Values that a schema accepts, as far as they can be guessed from it: what its author gave as an
 * example, else something of its type and format. A guess that the schema does not accept after all
 * is found out by whoever asks the schema.   AGTP-API §6.4
 */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";

const MAX_DEPTH = 8;
const MAX_STRING = 1024;
const MAX_ITEMS = 16;

/** By format; the day is far enough off for whatever must be in the future. */
const FORMATS: ReadonlyMap<unknown, string> = new Map([
  ["uuid", "018f3c2e-7a10-7cc4-9b7e-2f6d5a1c0b42"],
  ["date", "2031-05-04"],
  ["date-time", "2031-05-04T12:00:00Z"],
  ["time", "12:00:00Z"],
  ["duration", "P1D"],
  ["email", "conformance@example.com"],
  ["hostname", "conformance.example.com"],
  ["ipv4", "192.0.2.1"],
  ["ipv6", "2001:db8::1"],
  ["uri", "https://example.com/"],
  ["uri-reference", "/"],
]);

/** Not a method name, which a path must not have. */
const TEXT = "conformance-";

/** A value for this schema; undefined: none can be guessed. */
export function sampleValue(schema: unknown, depth = 0): unknown {
  if (schema === true) return TEXT;
  if (!isRecord(schema) || depth > MAX_DEPTH) return undefined;
  const { const: constant, default: byDefault, examples, enum: values } = schema;
  const [example] = Array.isArray(examples) ? examples : [];
  const [value] = Array.isArray(values) ? values : [];
  return constant ?? example ?? byDefault ?? value ?? ofType(schema, depth);
}

function ofType(schema: JsonRecord, depth: number): unknown {
  const { type } = schema;
  switch (Array.isArray(type) ? type[0] : type) {
    case "object":
      return sampleObject(schema, depth);
    case "array":
      return sampleArray(schema, depth);
    case "integer":
    case "number":
      return sampleNumber(schema);
    case "boolean":
      return false;
    case "null":
      return null;
    case undefined:
      return isRecord(schema["properties"]) ? sampleObject(schema, depth) : sampleText(schema);
    default:
      return sampleText(schema);
  }
}

/** What is required, and nothing more. */
function sampleObject(schema: JsonRecord, depth: number): unknown {
  const { properties, required } = schema;
  const members = isRecord(properties) ? properties : {};
  const sample: Record<string, unknown> = {};
  for (const name of Array.isArray(required) ? required : []) {
    if (typeof name !== "string" || !Object.hasOwn(members, name)) return undefined;
    const value = sampleValue(members[name], depth + 1);
    if (value === undefined) return undefined;
    Object.defineProperty(sample, name, { value, enumerable: true });
  }
  return sample;
}

function sampleArray({ items, minItems }: JsonRecord, depth: number): unknown {
  const count = typeof minItems === "number" ? Math.ceil(minItems) : 0;
  if (count <= 0) return [];
  const item = count > MAX_ITEMS ? undefined : sampleValue(items ?? true, depth + 1);
  return item === undefined ? undefined : Array.from({ length: count }, () => item);
}

function sampleNumber(schema: JsonRecord): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema;
  const step = typeof multipleOf === "number" && multipleOf > 0 ? multipleOf : 1;
  const above = typeof exclusiveMinimum === "number" ? exclusiveMinimum + step : undefined;
  const below = typeof exclusiveMaximum === "number" ? exclusiveMaximum - step : undefined;
  const least = typeof minimum === "number" ? minimum : above;
  const most = typeof maximum === "number" ? maximum : below;
  if (least !== undefined) return Math.ceil(least / step) * step;
  return most === undefined || most >= step ? step : Math.floor(most / step) * step;
}

function sampleText({ format, minLength, maxLength }: JsonRecord): string | undefined {
  const formatted = FORMATS.get(format);
  if (formatted !== undefined) return formatted;
  const least = typeof minLength === "number" ? minLength : 0;
  const most = typeof maxLength === "number" ? maxLength : MAX_STRING;
  if (least > MAX_STRING) return undefined;
  return TEXT.padEnd(least, "x").slice(0, Math.max(0, most));
}
