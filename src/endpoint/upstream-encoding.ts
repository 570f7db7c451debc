/**
 * Reads how an external service wants its values written: the format of bodies in both directions,
 * fields that travel as headers, and lists and objects in a query or a form. All of it is optional;
 * without it bodies are JSON and a list repeats its name.   AGTP-API §12.3
 */

import type { TableReader } from "../base/table-reader.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { UpstreamMethod } from "./endpoint.ts";
import { propertiesOf } from "./input-shape.ts";
import {
  BODY_FORMATS,
  type BodyFormat,
  RESPONSE_FORMATS,
  type UpstreamEncoding,
  VALUE_STYLES,
  type ValueStyle,
} from "./upstream-format.ts";
import { checkHeader } from "./upstream-headers.ts";
import { reportCollisions } from "./upstream-maps.ts";

/** The keys of the handler table that are read here. */
export const ENCODING_KEYS: readonly string[] = [
  "body_format",
  "body_field",
  "response_format",
  "header_fields",
  "styles",
];

const BODILESS: ReadonlySet<UpstreamMethod> = new Set(["GET", "HEAD", "OPTIONS"]);

/** The endpoint's facts that the encoding is checked against. */
export interface EncodingContext {
  readonly method: UpstreamMethod | undefined;
  readonly inputSchema: JsonSchema;
  /** Fields that the URL and the query take. */
  readonly taken: ReadonlySet<string>;
  /** Headers with a fixed value. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The encoding; undefined where none of its keys is written. */
export function readEncoding(
  table: TableReader,
  context: EncodingContext,
): UpstreamEncoding | undefined {
  if (!ENCODING_KEYS.some((key) => table.has(key))) return undefined;
  const bodyFormat = readBodyFormat(table, context);
  const bodyField = readBodyField(table, context);
  if ((bodyFormat === "binary" || bodyFormat === "text") && bodyField === undefined) {
    const message = `is missing, body_format = "${bodyFormat}" needs the field with the content`;
    table.fail("body_field", message);
  }
  return {
    ...(bodyFormat === undefined ? {} : { bodyFormat }),
    ...(bodyField === undefined ? {} : { bodyField }),
    responseFormat: table.has("response_format")
      ? (table.word("response_format", RESPONSE_FORMATS) ?? "json")
      : "json",
    headerFields: readHeaderFields(table, context),
    styles: readStyles(table, context),
  };
}

function readBodyFormat(table: TableReader, { method }: EncodingContext): BodyFormat | undefined {
  if (!table.has("body_format")) return undefined;
  const format = table.word("body_format", BODY_FORMATS);
  if (method !== undefined && BODILESS.has(method)) {
    table.fail("body_format", `is there, but ${method} has no body`);
  }
  return format;
}

function readBodyField(table: TableReader, context: EncodingContext): string | undefined {
  const field = table.optionalText("body_field");
  if (field === undefined) return undefined;
  const { inputSchema, taken, method } = context;
  if (method !== undefined && BODILESS.has(method)) {
    table.fail("body_field", `is there, but ${method} has no body`);
  }
  if (!Object.hasOwn(propertiesOf(inputSchema), field)) {
    table.fail("body_field", `"${field}" is no field of the input schema`);
  }
  if (taken.has(field)) table.fail("body_field", `"${field}" is in the URL or the query already`);
  return field;
}

function readHeaderFields(
  table: TableReader,
  { inputSchema, taken, headers }: EncodingContext,
): Readonly<Record<string, string>> {
  const fields = table.optionalTable("header_fields");
  if (fields === undefined) return {};
  const entries = table.textEntries("header_fields");
  const fixed = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  for (const [field, name] of entries) {
    const isField = Object.hasOwn(propertiesOf(inputSchema), field);
    const fault = isField ? checkHeader(name, "") : "is no field of the input schema";
    if (fault !== undefined) fields.fail(field, fault);
    if (taken.has(field)) fields.fail(field, "is in the URL or the query already");
    if (fixed.has(name.toLowerCase())) fields.fail(field, `"${name}" has a fixed value in headers`);
  }
  reportCollisions(fields, new Map(entries.map(([field, name]) => [field, name.toLowerCase()])));
  return Object.fromEntries(entries);
}

function readStyles(
  table: TableReader,
  { inputSchema }: EncodingContext,
): Readonly<Record<string, ValueStyle>> {
  const styles = table.optionalTable("styles");
  if (styles === undefined) return {};
  const fields = propertiesOf(inputSchema);
  const entries = styles.names.flatMap((field): (readonly [string, ValueStyle])[] => {
    if (!Object.hasOwn(fields, field)) styles.fail(field, "is no field of the input schema");
    const style = styles.word(field, VALUE_STYLES);
    return style === undefined ? [] : [[field, style]];
  });
  return Object.fromEntries(entries);
}
