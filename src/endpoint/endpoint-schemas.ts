/**
 * The two schemas of an endpoint, each as JSON Schema or as a field list, never as both. The input
 * is a closed object: a field that nobody declared is a caller's mistake.   AGTP-API §6.4, §13.3
 */

import type { DocumentPlace } from "../base/document-place.ts";
import { describeToml } from "../base/document-style.ts";
import { isRecord, quoteValue, recordIn } from "../base/json-value.ts";
import { isTable, toJson } from "../base/toml-document.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { readInputFields, readOutputFields } from "./field-list.ts";

/** Both schemas; one that is undefined was a problem. */
export interface EndpointSchemas {
  readonly inputSchema: JsonSchema | undefined;
  readonly outputSchema: JsonSchema | undefined;
  /** Neither is written as JSON Schema. */
  readonly isFieldList: boolean;
}

/** Reads both schemas. In a file of field lists an absent list is an empty one, even both of them. */
export function readSchemas(
  endpoint: DocumentPlace,
  pathParameters: readonly string[],
): EndpointSchemas {
  const hasSchema = endpoint.has("input_schema") || endpoint.has("output_schema");
  const hasFields = endpoint.has("input") || endpoint.has("output");
  const isFieldList = !hasSchema && (hasFields || isOfFieldLists(endpoint));
  if (isFieldList && !hasFields) warnOfNoFields(endpoint, pathParameters);
  const inputSchema = readInput(endpoint, isFieldList, pathParameters);
  const outputSchema = readOutput(endpoint, isFieldList);
  return { inputSchema, outputSchema, isFieldList };
}

/** Files of field lists may have none at all, and name their errors in a block, or not at all. */
function isOfFieldLists(endpoint: DocumentPlace): boolean {
  return !endpoint.has("errors") || isTable(endpoint.at("errors").value);
}

/** Warns of an input without fields: where such files were first read, it takes any field. */
function warnOfNoFields(endpoint: DocumentPlace, pathParameters: readonly string[]): void {
  const others = pathParameters.length === 0 ? "no members" : "no members but those of its path";
  const message = `is missing, and so is the output: the input takes ${others}`;
  endpoint.at("input").warn(message, "declare its fields, or input_schema and output_schema");
}

function readInput(
  endpoint: DocumentPlace,
  isFieldList: boolean,
  pathParameters: readonly string[],
): JsonSchema | undefined {
  if (isMixed(endpoint, "input_schema", "input")) return undefined;
  if (isFieldList || endpoint.has("input")) {
    const lists = endpoint.at("input").optional?.record(["required", "optional"]);
    return readInputFields(lists, pathParameters);
  }
  const schema = readJsonSchema(endpoint, "input_schema");
  if (schema !== undefined) checkInput(endpoint, schema);
  return schema;
}

function readOutput(endpoint: DocumentPlace, isFieldList: boolean): JsonSchema | undefined {
  if (isMixed(endpoint, "output_schema", "output")) return undefined;
  if (isFieldList || endpoint.has("output")) return readOutputFields(endpoint);
  return readJsonSchema(endpoint, "output_schema");
}

function isMixed(endpoint: DocumentPlace, schema: string, fields: string): boolean {
  if (!endpoint.has(schema) || !endpoint.has(fields)) return false;
  endpoint.at(fields).fail(`stands beside ${schema}, expected one of the two`);
  return true;
}

function readJsonSchema(endpoint: DocumentPlace, name: string): JsonSchema | undefined {
  const raw = endpoint.at(name).value;
  if (!isTable(raw)) {
    return endpoint.at(name).fail(`${describeToml(raw)}, expected a JSON Schema as a table`);
  }
  const schema = toJson(raw);
  if (isRecord(schema)) return schema;
  return endpoint.at(name).fail("has inf, nan or more than 64 levels, which JSON Schema has not");
}

function checkInput(endpoint: DocumentPlace, schema: JsonSchema): void {
  const input = endpoint.at("input_schema").record();
  if (schema["type"] !== "object") input?.at("type").fail('must be "object"');
  if (schema["additionalProperties"] !== false) {
    const hint = "an input refuses fields that it does not declare";
    input?.at("additionalProperties").fail("must be false", hint);
  }
  const { properties, patternProperties, required } = schema;
  if (patternProperties !== undefined || !Array.isArray(required)) return;
  const declared = recordIn(properties);
  for (const name of required) {
    if (typeof name !== "string" || Object.hasOwn(declared, name)) continue;
    input
      ?.at("required")
      .fail(`${quoteValue(name)} is not among the properties, so no input is valid`);
  }
}
