/**
 * The two schemas of an endpoint, each written as JSON Schema or as a field list, never as both.
 * The input is a closed object, since an undeclared field is a caller's mistake.   AGTP-API §6.4,
 * §13.3
 */

import { suggest } from "../base/close-matches.ts";
import type { DocumentPlace } from "../base/document-place.ts";
import { describeToml } from "../base/document-style.ts";
import { joinKey } from "../base/dotted-key.ts";
import { given, isRecord, quoteValue, recordIn } from "../base/json-value.ts";
import { isTable, toJson } from "../base/toml-document.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { FORMATS } from "../schema/keywords-and-formats.ts";
import { SCHEMA_TYPES, type SchemaType } from "../schema/schema-vocabulary.ts";
import { FIELD_KEYS } from "./endpoint-file-schema.ts";

interface EndpointSchemas {
  readonly inputSchema: JsonSchema | undefined;
  readonly outputSchema: JsonSchema | undefined;
  /** True if neither is written as JSON Schema. */
  readonly isFieldList: boolean;
  /** Returns the file's key for a key of one of the schemas, which differs for a field list. */
  keyInFile(key: string): string;
}

/** Reads both schemas. In a file with field lists, an absent list is empty, and both may be. */
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
  const keyInFile = (key: string): string => fieldKey(key, fieldsBySchemaKey(endpoint));
  return { inputSchema, outputSchema, isFieldList, keyInFile };
}

function fieldsBySchemaKey(endpoint: DocumentPlace): ReadonlyMap<string, DocumentPlace> {
  const input = endpoint.at("input");
  const lists = [
    [endpoint.at("input_schema"), [input.at("required"), input.at("optional")]],
    [endpoint.at("output_schema"), [endpoint.at("output")]],
  ] as const;
  const fields = lists.flatMap(([{ key }, places]) => {
    const written = places.filter(({ value }) => Array.isArray(value));
    return written
      .flatMap((place) => place.items() ?? [])
      .flatMap((field) => {
        const { value: name } = field.at("name");
        if (typeof name !== "string") return [];
        return [[joinKey(`${key}.properties`, name), field] as const];
      });
  });
  return new Map(fields.reverse());
}

/** Returns the file's key; a keyword in a field's `schema` wins over the field's own. */
function fieldKey(key: string, fields: ReadonlyMap<string, DocumentPlace>): string {
  for (const [prefix, field] of fields) {
    const rest = key.startsWith(prefix) ? key.slice(prefix.length) : undefined;
    if (rest === "") return field.key;
    const keyword = rest && /^\.([\w$-]+)/.exec(rest)?.[1];
    if (!keyword) continue;
    const isOwn = field.has(keyword) && !field.at("schema").has(keyword);
    return `${field.key}${isOwn ? "" : ".schema"}${rest}`;
  }
  return key;
}

/** Tells whether a file is of the form with field lists, by its errors: it has a table or none. */
function isOfFieldLists(endpoint: DocumentPlace): boolean {
  return !endpoint.has("errors") || isTable(endpoint.at("errors").value);
}

/** Warns of an input without fields, since other implementations accept any field then. */
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

const KNOWN = Object.keys(FIELD_KEYS);
const FIELD_TYPES = SCHEMA_TYPES.filter((type) => type !== "null");

/**
 * Reads `[[endpoint.input.required]]` and `[[endpoint.input.optional]]`; without both there are no
 * parameters. A path parameter in neither list is a string, since files of this form omit those.
 */
function readInputFields(
  input: DocumentPlace | undefined,
  pathParameters: readonly string[],
): JsonSchema {
  const fields = new Map<string, JsonSchema>();
  const required: string[] = [];
  for (const field of input?.at("required").records({ known: KNOWN }) ?? []) {
    const name = readField(field, fields);
    if (name !== undefined) required.push(name);
  }
  for (const field of input?.at("optional").records({ known: KNOWN }) ?? [])
    readField(field, fields);
  for (const name of pathParameters) {
    if (!fields.has(name)) fields.set(name, { type: "string" });
  }
  return {
    type: "object",
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    properties: Object.fromEntries(fields),
  };
}

/** Reads `[[endpoint.output]]`. */
function readOutputFields(endpoint: DocumentPlace): JsonSchema {
  const fields = new Map<string, JsonSchema>();
  for (const field of endpoint.at("output").records({ known: KNOWN })) readField(field, fields);
  const required = [...fields.keys()];
  return {
    type: "object",
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: true,
    properties: Object.fromEntries(fields),
  };
}

/** Reads one field into `fields` and returns its name. */
function readField(field: DocumentPlace, fields: Map<string, JsonSchema>): string | undefined {
  const name = field.at("name").text();
  const schema = readFieldSchema(field);
  if (name === undefined) return undefined;
  if (fields.has(name)) return field.at("name").fail(`${JSON.stringify(name)} a second time`);
  fields.set(name, schema);
  return name;
}

function readFieldSchema(field: DocumentPlace): JsonSchema {
  const own = readOwnSchema(field);
  const type = own["type"] === undefined || field.has("type") ? readType(field, own) : undefined;
  const description = field.at("description").optional?.text();
  const format = readFormat(field);
  return {
    ...given({ type, description, format }),
    ...(field.has("enum") ? { enum: toJson(field.at("enum").value) } : {}),
    ...own,
  };
}

/** Reads a format; an unknown one is only a hint for people, which files of this form contain. */
function readFormat(field: DocumentPlace): string | undefined {
  const format = field.at("format").optional?.text();
  if (format === undefined || FORMATS.has(format)) return format;
  const message = `is ${quoteValue(format)}, which is no known format and is not checked`;
  return field.at("format").warn(message, suggest(format, FORMATS.keys()));
}

function readType(field: DocumentPlace, own: JsonSchema): SchemaType | undefined {
  const type = field.at("type").word(FIELD_TYPES);
  const inner = own["type"];
  if (type !== undefined && inner !== undefined && ![inner].flat().includes(type)) {
    return field.at("type").fail(`is "${type}", but the type in "schema" is another one`);
  }
  return type;
}

/** Reads the full schema that a field may also have. */
function readOwnSchema(field: DocumentPlace): JsonSchema {
  if (!field.has("schema")) return {};
  const raw = field.at("schema").value;
  const schema = isTable(raw) ? toJson(raw) : undefined;
  if (typeof schema === "object" && schema !== null) return schema as JsonSchema;
  field.at("schema").fail("must be a table that is a JSON Schema");
  return {};
}
