/**
 * Reads the location of an external service and the encoding of its values. The URL template is
 * https, with `{field}` only in path or query: in the host, a caller could choose the server's
 * peer. Without an encoding, bodies are JSON and lists repeat their name.   AGTP-API §12.3
 */

import type { DocumentPlace } from "../base/document-place.ts";
import { given } from "../base/json-value.ts";
import { fillTemplate, templateNames } from "../base/template.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { UpstreamMethod } from "./endpoint.ts";
import { ENCODING_KEYS } from "./endpoint-file-schema.ts";
import { propertiesOf } from "./input-shape.ts";
import {
  BODY_FORMATS,
  type BodyFormat,
  checkHeader,
  RESPONSE_FORMATS,
  type UpstreamEncoding,
  VALUE_STYLES,
  type ValueStyle,
} from "./upstream-format.ts";

const BODILESS: ReadonlySet<UpstreamMethod> = new Set(["GET", "HEAD", "OPTIONS"]);

/** The facts of an endpoint that the encoding is checked against. */
interface EncodingContext {
  readonly method: UpstreamMethod | undefined;
  readonly inputSchema: JsonSchema;
  /** The fields that URL and query use. */
  readonly taken: ReadonlySet<string>;
  /** The headers with fixed values. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Reads the encoding; undefined if none of its keys is set. */
export function readEncoding(
  table: DocumentPlace,
  context: EncodingContext,
): UpstreamEncoding | undefined {
  if (!Object.keys(ENCODING_KEYS).some((key) => table.has(key))) return undefined;
  const bodyFormat = readBodyFormat(table, context);
  const bodyField = readBodyField(table, context);
  if (bodyFormat === "none" && bodyField !== undefined) {
    table.at("body_field").fail('is there, but body_format = "none" has no body');
  }
  if ((bodyFormat === "binary" || bodyFormat === "text") && bodyField === undefined) {
    const message = `is missing, body_format = "${bodyFormat}" needs the field with the content`;
    table.at("body_field").fail(message);
  }
  return {
    ...given({ bodyFormat, bodyField }),
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

const FIELD_NAME = /^[A-Za-z0-9_]+$/;
const ORIGIN = /^https:\/\/[^/?#]+/i;
// Listed explicitly, because the URL parser drops or rewrites these instead of refusing them.
const UNSAFE = /[\x00-\x20\x7f"<>\\^`|]/;

/** AGTP-API §12.3 */
const NO_TLS =
  "must use https: the draft forbids plain HTTP to an upstream, where credentials and inputs could be " +
  "read on the way; put TLS in front of it and name its CA with ca, or write a handler " +
  '(type = "registered_function") that calls it';

/** Returns the fault of a URL template, which is never quoted, since it may hold a secret. */
export function checkUrlTemplate(url: string): string | undefined {
  if (!/^https:/i.test(url)) return NO_TLS;
  if (UNSAFE.test(url)) return "has a character that must be percent-encoded";
  const origin = ORIGIN.exec(url)?.[0];
  if (origin === undefined) return "is no URL, expected https://host/path";
  if (/[{}]/.test(origin)) return "has a field in its host, expected fields in the path or query";
  const filled = fillTemplate(url, (name) => (FIELD_NAME.test(name) ? "x" : undefined));
  if (/[{}]/.test(filled)) return "has braces around something that is no field name";
  if (filled.includes("#")) return "has a fragment, which is never sent";
  if (!URL.canParse(filled)) return "is no URL, expected https://host/path";
  const { username, password } = new URL(filled);
  if (username !== "" || password !== "" || origin.includes("@")) {
    return "has credentials in it, expected an Authorization header";
  }
  return undefined;
}

/** Returns the input fields that a URL template uses. */
export function urlFields(url: string): ReadonlySet<string> {
  return new Set(templateNames(url).filter((name) => FIELD_NAME.test(name)));
}

const STATUS = /^[1-5]\d\d$/;

/** Reads a map from AGTP names to upstream names. */
export function readTransform(table: DocumentPlace, key: string): Readonly<Record<string, string>> {
  const transform = table.at(key).optional?.record();
  if (transform === undefined) return {};
  const names = new Map(table.at(key).textEntries());
  reportCollisions(transform, names);
  return Object.fromEntries(names);
}

/** Reports upstream names that two fields share. */
export function reportCollisions(table: DocumentPlace, names: ReadonlyMap<string, string>): void {
  const owners = new Map<string, string>();
  for (const [name, upstream] of names) {
    const other = owners.get(upstream);
    if (other !== undefined) {
      table.at(name).fail(`takes the upstream name "${upstream}", which "${other}" has already`);
    }
    owners.set(upstream, name);
  }
}

/** Reports an unrenamed field whose name a renamed one takes. */
export function checkPassThrough(
  table: DocumentPlace,
  transform: Readonly<Record<string, string>>,
  fields: ReadonlySet<string>,
): void {
  for (const [name, upstream] of Object.entries(transform)) {
    if (!fields.has(upstream) || !fields.has(name) || Object.hasOwn(transform, upstream)) continue;
    const message = `"${name}" takes the name of the field "${upstream}", which is not renamed`;
    table.at("input_transform").fail(message);
  }
}

/** Reads a map from upstream statuses to declared errors. */
export function readErrorMap(
  table: DocumentPlace,
  errors: readonly string[],
): Readonly<Record<string, string>> {
  const map = table.at("error_map").optional?.record();
  if (map === undefined) return {};
  const entries = table.at("error_map").textEntries();
  for (const [status, name] of entries) {
    if (!STATUS.test(status)) map.at(status).fail("is no HTTP status, expected three digits");
    if (!errors.includes(name)) map.at(status).fail(`is "${name}", which errors does not declare`);
  }
  return Object.fromEntries(entries);
}
