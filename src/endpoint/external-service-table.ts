/**
 * Reads the handler table of an external service. Refuses other schemes than https, an input field
 * in the host, credentials in the URL, colliding names and undeclared errors. `${VAR}` is
 * substituted in url, headers, query and ca.   AGTP-API §12.3
 */
import { suggest } from "../base/close-matches.ts";
import type { DocumentPlace } from "../base/document-place.ts";
import { type Environment, remedyOf, substituteVariables } from "../base/environment.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { type ExternalServiceBinding, UPSTREAM_ERRORS, UPSTREAM_METHODS } from "./endpoint.ts";
import { EXTERNAL_SERVICE_KEYS } from "./endpoint-file-schema.ts";
import { propertiesOf } from "./input-shape.ts";
import { readCertificates } from "./upstream-ca.ts";
import { checkHeader } from "./upstream-format.ts";
import {
  checkPassThrough,
  checkUrlTemplate,
  readEncoding,
  readErrorMap,
  readTransform,
  reportCollisions,
  urlFields,
} from "./upstream-table.ts";

/** The context that a handler table is checked against. */
export interface HandlerContext {
  /** The deployment directory, absolute; the CA file is relative to it. */
  readonly directory: string;
  readonly environment: Environment;
  readonly inputSchema: JsonSchema;
  readonly errors: readonly string[];
}

const KEYS = Object.keys(EXTERNAL_SERVICE_KEYS);
const DEFAULT_TIMEOUT_SECONDS = 30;
const MAX_TIMEOUT_SECONDS = 86_400;
const DEFAULT_MAX_RESPONSE_BYTES = 1_048_576;
const MAX_RESPONSE_BYTES = 1_073_741_824;

/** Reads the binding; undefined with problems. */
export function readExternalService(
  endpoint: DocumentPlace,
  context: HandlerContext,
): ExternalServiceBinding | undefined {
  const table = endpoint.at("handler").record(KEYS);
  if (table === undefined) return undefined;
  const { environment, errors } = context;
  requireUpstreamErrors(endpoint, errors);
  const url = readUrl(table, context);
  const method = table.at("method").word(UPSTREAM_METHODS);
  const timeoutMs = readTimeout(table);
  const maxResponseBytes = readMaxResponseBytes(table);
  const certificates = readCa(table, context);
  const query = readQuery(table, context);
  const inputTransform = readInputTransform(table, context);
  const outputTransform = readTransform(table, "output_transform");
  const taken = new Set([...urlFields(url ?? ""), ...Object.keys(query)]);
  checkPassThrough(table, inputTransform, bodyFields(context, taken));
  const headers = readHeaders(table, environment);
  const { inputSchema } = context;
  const encoding = readEncoding(table, { method, inputSchema, taken, headers });
  const errorMap = readErrorMap(table, errors);
  if (url === undefined || method === undefined) return undefined;
  return {
    type: "external_service",
    url,
    method,
    timeoutMs,
    ...(certificates === undefined ? {} : { ca: certificates }),
    maxResponseBytes,
    headers,
    query,
    inputTransform,
    outputTransform,
    errorMap,
    ...(encoding === undefined ? {} : { encoding }),
  };
}

/** Reports the upstream errors that an endpoint does not declare. */
export function requireUpstreamErrors(
  endpoint: DocumentPlace,
  errors: readonly string[],
  required: readonly string[] = UPSTREAM_ERRORS,
): void {
  const missing = required.filter((name) => !errors.includes(name));
  if (missing.length === 0) return;
  const hint = "an external service answers with them when its upstream fails";
  endpoint.at("errors").fail(`must include ${missing.join(", ")}`, hint);
}

/** Substitutes the variables of a text. */
function substitute(place: DocumentPlace, environment: Environment): string | undefined {
  const text = place.text();
  if (text === undefined) return undefined;
  const replaced = substituteVariables(text, environment);
  for (const fault of replaced.faults ?? []) place.fail(fault, remedyOf(fault).hint);
  return replaced.text;
}

function readUrl(
  table: DocumentPlace,
  { environment, inputSchema }: HandlerContext,
): string | undefined {
  const url = substitute(table.at("url"), environment);
  if (url === undefined) return undefined;
  const fault = checkUrlTemplate(url);
  if (fault !== undefined) return table.at("url").fail(fault);
  const fields = propertiesOf(inputSchema);
  for (const field of urlFields(url)) {
    if (Object.hasOwn(fields, field)) continue;
    table.at("url").fail(`{${field}} is no field of the input schema`);
  }
  return url;
}

function readTimeout(table: DocumentPlace): number {
  const written = table.at("timeout_seconds").optional?.number(0.001, MAX_TIMEOUT_SECONDS);
  return Math.round((written ?? DEFAULT_TIMEOUT_SECONDS) * 1000);
}

function readMaxResponseBytes(table: DocumentPlace): number {
  const place = table.at("max_response_bytes");
  const bytes = place.optional?.number(1, MAX_RESPONSE_BYTES) ?? DEFAULT_MAX_RESPONSE_BYTES;
  if (!Number.isInteger(bytes)) place.fail(`is ${bytes}, expected a whole number`);
  return bytes;
}

function readCa(
  table: DocumentPlace,
  { directory, environment }: HandlerContext,
): string | undefined {
  if (!table.has("ca")) return undefined;
  const path = substitute(table.at("ca"), environment);
  if (path === undefined) return undefined;
  const read = readCertificates(directory, path);
  return read.fault === undefined ? read.text : table.at("ca").fail(read.fault);
}

function readHeaders(
  table: DocumentPlace,
  environment: Environment,
): Readonly<Record<string, string>> {
  const headers = table.at("headers").optional?.record();
  if (headers === undefined) return {};
  const values = new Map<string, string>();
  const seen = new Set<string>();
  for (const name of headers.names) {
    const value = substitute(headers.at(name), environment);
    if (value === undefined) continue;
    const fault = seen.has(name.toLowerCase()) ? "is there twice" : checkHeader(name, value);
    if (fault !== undefined) headers.at(name).fail(fault);
    seen.add(name.toLowerCase());
    values.set(name, value);
  }
  return Object.fromEntries(values);
}

function readQuery(
  table: DocumentPlace,
  { environment, inputSchema }: HandlerContext,
): Readonly<Record<string, string>> {
  const query = table.at("query").optional?.record();
  if (query === undefined) return {};
  const fields = propertiesOf(inputSchema);
  const names = new Map<string, string>();
  for (const field of query.names) {
    const name = substitute(query.at(field), environment);
    if (name === undefined) continue;
    if (!Object.hasOwn(fields, field)) query.at(field).fail("is no field of the input schema");
    names.set(field, name);
  }
  reportCollisions(query, names);
  return Object.fromEntries(names);
}

/**
 * Reads the input names; an unknown field has no effect, and occurs in files of the reference
 * implementation.
 */
function readInputTransform(
  table: DocumentPlace,
  { inputSchema }: HandlerContext,
): Readonly<Record<string, string>> {
  const transform = readTransform(table, "input_transform");
  const fields = propertiesOf(inputSchema);
  if (inputSchema["patternProperties"] !== undefined) return transform;
  for (const name of Object.keys(transform)) {
    if (Object.hasOwn(fields, name)) continue;
    const place = table.at("input_transform").at(name);
    place.warn("is no field of the input schema", suggest(name, Object.keys(fields)));
  }
  return transform;
}

/** Returns the input fields that neither the URL nor the query uses. */
function bodyFields(
  { inputSchema }: HandlerContext,
  taken: ReadonlySet<string>,
): ReadonlySet<string> {
  return new Set(Object.keys(propertiesOf(inputSchema)).filter((name) => !taken.has(name)));
}
