/**
 * Reads how an external service wants its values written: the format of bodies in both directions,
 * fields that travel as headers, and lists and objects in a query or a form. All of it is optional;
 * without it bodies are JSON and a list repeats its name.   AGTP-API §12.3
 */

import type { DocumentPlace } from "../base/document-place.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { UpstreamMethod } from "./endpoint.ts";
import { ENCODING_KEYS } from "./handler-schema.ts";
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
  table: DocumentPlace,
  context: EncodingContext,
): UpstreamEncoding | undefined {
  if (!Object.keys(ENCODING_KEYS).some((key) => table.has(key))) return undefined;
  const bodyFormat = readBodyFormat(table, context);
  const bodyField = readBodyField(table, context);
  if ((bodyFormat === "binary" || bodyFormat === "text") && bodyField === undefined) {
    const message = `is missing, body_format = "${bodyFormat}" needs the field with the content`;
    table.at("body_field").fail(message);
  }
  return {
    ...(bodyFormat === undefined ? {} : { bodyFormat }),
    ...(bodyField === undefined ? {} : { bodyField }),
    responseFormat: table.at("response_format").optional?.word(RESPONSE_FORMATS) ?? "json",
    headerFields: readHeaderFields(table, context),
    styles: readStyles(table, context),
  };
}

function readBodyFormat(table: DocumentPlace, { method }: EncodingContext): BodyFormat | undefined {
  if (!table.has("body_format")) return undefined;
  const format = table.at("body_format").word(BODY_FORMATS);
  if (method !== undefined && BODILESS.has(method)) {
    table.at("body_format").fail(`is there, but ${method} has no body`);
  }
  return format;
}

function readBodyField(table: DocumentPlace, context: EncodingContext): string | undefined {
  const field = table.at("body_field").optional?.text();
  if (field === undefined) return undefined;
  const { inputSchema, taken, method } = context;
  if (method !== undefined && BODILESS.has(method)) {
    table.at("body_field").fail(`is there, but ${method} has no body`);
  }
  if (!Object.hasOwn(propertiesOf(inputSchema), field)) {
    table.at("body_field").fail(`"${field}" is no field of the input schema`);
  }
  if (taken.has(field))
    table.at("body_field").fail(`"${field}" is in the URL or the query already`);
  return field;
}

function readHeaderFields(
  table: DocumentPlace,
  { inputSchema, taken, headers }: EncodingContext,
): Readonly<Record<string, string>> {
  const fields = table.at("header_fields").optional?.record();
  if (fields === undefined) return {};
  const entries = table.at("header_fields").textEntries();
  const fixed = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  for (const [field, name] of entries) {
    const isField = Object.hasOwn(propertiesOf(inputSchema), field);
    const fault = isField ? checkHeader(name, "") : "is no field of the input schema";
    if (fault !== undefined) fields.at(field).fail(fault);
    if (taken.has(field)) fields.at(field).fail("is in the URL or the query already");
    if (fixed.has(name.toLowerCase()))
      fields.at(field).fail(`"${name}" has a fixed value in headers`);
  }
  reportCollisions(fields, new Map(entries.map(([field, name]) => [field, name.toLowerCase()])));
  return Object.fromEntries(entries);
}

function readStyles(
  table: DocumentPlace,
  { inputSchema }: EncodingContext,
): Readonly<Record<string, ValueStyle>> {
  const styles = table.at("styles").optional?.record();
  if (styles === undefined) return {};
  const fields = propertiesOf(inputSchema);
  const entries = styles.names.flatMap((field): (readonly [string, ValueStyle])[] => {
    if (!Object.hasOwn(fields, field)) styles.at(field).fail("is no field of the input schema");
    const style = styles.at(field).word(VALUE_STYLES);
    return style === undefined ? [] : [[field, style]];
  });
  return Object.fromEntries(entries);
}
