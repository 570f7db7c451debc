/**
 * Checks the endpoints of a manifest: each must be complete, and no two may match the same
 * request.   AGTP-API §5, §6, §8.9
 */
import type { DocumentPlace } from "../../base/document-place.ts";
import { describeValue, isRecord, type JsonRecord, quoteValue } from "../../base/json-value.ts";
import type { Pair } from "../../catalog/pair.ts";
import { RESERVED_NAMES, templateParameters } from "../../catalog/path-grammar.ts";
import { UPSTREAM_ERRORS } from "../../endpoint/endpoint.ts";
import { SEMANTIC_KEYS } from "../../endpoint/endpoint-file-schema.ts";
import { createRegistry } from "../../endpoint/endpoint-registry.ts";
import { checkReservation } from "../../endpoint/method-rule.ts";
import { readSemanticBlock } from "../../endpoint/semantic-block.ts";
import { isScopeToken } from "../../identity/authority-scope.ts";
import { OPERATOR_SCHEMA_BOUNDS, type SchemaBounds } from "../../schema/schema-bounds.ts";
import { checkSchema } from "../../schema/schema-check.ts";
import { type ManifestVocabulary, readMethod, readTemplate, warnOfOthers } from "./findings.ts";

interface PlacedPair extends Pair {
  readonly place: DocumentPlace;
}

const REQUIRED = [
  ...["method", "path", "description", "semantic", "input_schema", "output_schema"],
  ...["errors", "handler"],
];
const OPTIONAL = ["namespace", "required_scopes", "approval", "deprecated", "tier"];
/** Members about an endpoint's handler that only the server's own files may have. */
const BINDING_DETAILS: ReadonlySet<string> = new Set([
  ...["function", "module", "recipe", "url", "headers", "query", "input_transform"],
  ...["output_transform", "error_map", "timeout_seconds", "ca", "max_response_bytes", "file"],
]);

/** Checks every endpoint; returns the well-formed pairs of method and path. */
export function checkEndpoints(
  list: DocumentPlace,
  vocabulary: ManifestVocabulary,
): ReadonlySet<string> {
  const pairs: PlacedPair[] = [];
  for (const place of list.items() ?? []) {
    const pair = checkEndpoint(place.under("6.2"), vocabulary);
    if (pair !== undefined) pairs.push({ ...pair, place });
  }
  for (const { entry, message } of createRegistry(pairs).conflicts) {
    entry.place.under("5.4").fail(message);
  }
  return new Set(pairs.map(({ method, path }) => `${method} ${path}`));
}

function checkEndpoint(endpoint: DocumentPlace, vocabulary: ManifestVocabulary): Pair | undefined {
  const value = endpoint.record()?.members;
  if (value === undefined) return undefined;
  const missing = REQUIRED.filter((name) => !Object.hasOwn(value, name));
  for (const name of missing) endpoint.under("6.3").at(name).fail("is missing");
  for (const name of Object.keys(value).filter((one) => BINDING_DETAILS.has(one))) {
    endpoint.at(name).under("8.9").fail("is internal to the server and must not be published");
  }
  warnOfOthers(endpoint, [...REQUIRED, ...OPTIONAL, ...BINDING_DETAILS]);
  /** Missing members have already been reported. */
  const has = (name: string): boolean => !missing.includes(name);
  const method = has("method")
    ? readMethod(endpoint.at("method").under("6.4"), vocabulary)
    : undefined;
  const path = has("path") ? readTemplate(endpoint.at("path"), vocabulary) : undefined;
  if (has("description")) endpoint.at("description").under("6.4").text();
  endpoint.at("namespace").under("6.4").optional?.text();
  if (has("semantic")) checkSemantic(endpoint.at("semantic").under("7.1").record());
  if (has("input_schema")) {
    const parameters = path === undefined ? [] : templateParameters(path);
    checkInputSchema(endpoint.at("input_schema").under("6.4"), parameters);
  }
  if (has("output_schema")) checkOutputSchema(endpoint.at("output_schema").under("6.4"));
  if (has("errors")) endpoint.at("errors").under("6.4").textItems();
  if (has("handler")) checkBinding(endpoint);
  checkScopes(endpoint.at("required_scopes").under("6.4"));
  checkDeprecation(endpoint.at("deprecated").under("6.5"), vocabulary);
  if (method === undefined || path === undefined) return undefined;
  checkReserved(endpoint.at("path").under("5.9"), method, path);
  return { method, path };
}

/** Checks the semantic block: its seven fields and their bounds. */
function checkSemantic(block: DocumentPlace | undefined): void {
  if (block === undefined) return;
  warnOfOthers(block, Object.keys(SEMANTIC_KEYS));
  readSemanticBlock(block);
}

function checkScopes(scopes: DocumentPlace): void {
  if (scopes.isAbsent) return;
  for (const scope of scopes.textItems()) {
    if (isScopeToken(String(scope.value))) continue;
    scope.fail(`${quoteValue(scope.value)} is no scope, expected two or more segments`);
  }
}

/** Only built-ins may use reserved names. */
function checkReserved(place: DocumentPlace, method: string, path: string): void {
  if (method !== "DISCOVER" || path === "/") return;
  if (RESERVED_NAMES.includes(path.slice(1))) return;
  const fault = checkReservation(method, path, []);
  if (fault !== undefined) place.fail(fault);
}

const KINDS = ["registered_function", "composition", "external_service"] as const;

/**
 * Checks `handler`, which may only name the kind of binding, and the `errors` that each kind
 * implies.   AGTP-API §6.4, §12.1, §12.3
 */
function checkBinding(endpoint: DocumentPlace): void {
  const handler = endpoint.at("handler").under("8.9");
  const value = handler.record()?.members;
  if (value === undefined) return;
  for (const name of Object.keys(value).filter((one) => one !== "type")) {
    handler.at(name).fail("is internal to the server and must not be published");
  }
  const errors = endpoint.at("errors");
  switch (handler.at("type").under("6.4").word(KINDS)) {
    case "composition":
      checkDeclared(errors.under("12.1"), ["composition_failed"]);
      break;
    case "external_service":
      checkDeclared(errors.under("12.3"), UPSTREAM_ERRORS);
      break;
    case "registered_function":
    case undefined:
      break;
  }
}

function checkDeclared(errors: DocumentPlace, required: readonly string[]): void {
  const { value } = errors;
  if (!Array.isArray(value)) return;
  const missing = required.filter((name) => !value.includes(name));
  if (missing.length > 0) errors.fail(`lacks ${missing.join(", ")}`);
}

/** Checks the deprecation of an endpoint, if there is one.   AGTP-API §6.5 */
function checkDeprecation(block: DocumentPlace, vocabulary: ManifestVocabulary): void {
  if (block.isAbsent || block.record() === undefined) return;
  warnOfOthers(block, ["deprecated_in", "removed_in", "successor"]);
  block.at("deprecated_in").text();
  block.at("removed_in").optional?.text();
  const successor = block.at("successor");
  if (successor.isAbsent || successor.record() === undefined) return;
  warnOfOthers(successor, ["method", "path"]);
  const [method, path] = [successor.at("method"), successor.at("path")];
  if (method.isAbsent && path.isAbsent) successor.fail("is empty, expected method or path");
  if (!method.isAbsent) readMethod(method, vocabulary);
  readTemplate(path.optional, vocabulary);
}

/** Unknown keywords are allowed: other servers may have their own. */
const BOUNDS: SchemaBounds = {
  ...OPERATOR_SCHEMA_BOUNDS,
  maxLength: 4_194_304,
  maxDepth: 64,
  maxProperties: 65_536,
  maxPatterns: 4096,
  maxReferences: 4096,
  isTolerant: true,
  takesForeignFormats: true,
};

/**
 * Checks the input schema, in JSON Schema 2020-12: a closed object that declares every parameter of
 * the path; output schemas should be open.   AGTP-API §5.3, §6.4, §13.3
 */
function checkInputSchema(place: DocumentPlace, parameters: readonly string[]): void {
  const schema = readSchema(place);
  if (schema === undefined) return;
  if (schema["type"] !== "object") {
    place.at("type").fail(`${describeValue(schema["type"])}, expected "object"`);
  }
  if (schema["additionalProperties"] !== false) {
    const got = describeValue(schema["additionalProperties"]);
    place.at("additionalProperties").under("13.3").fail(`${got}, expected false`);
  }
  const { properties } = schema;
  for (const name of parameters) {
    if (isRecord(properties) && Object.hasOwn(properties, name)) continue;
    place
      .at("properties")
      .under("5.3")
      .fail(`lacks the parameter ${quoteValue(name)} of the path`);
  }
}

function checkOutputSchema(place: DocumentPlace): void {
  const schema = readSchema(place);
  if (schema?.["additionalProperties"] !== false) return;
  place.at("additionalProperties").under("13.3").warn("is false, expected true: outputs may grow");
}

function readSchema(place: DocumentPlace): JsonRecord | undefined {
  const schema = place.record()?.members;
  if (schema === undefined) return undefined;
  for (const { pointer, message } of checkSchema(schema, BOUNDS)) {
    place.failBelow(pointer, message);
  }
  return schema;
}
