/**
 * The other form of a schema: a list of fields, required or optional, with a type each. It becomes
 * the JSON Schema it stands for: a closed input, an open output whose fields are all required.
 * AGTP-API §6.4, §13.3
 */

import { suggest } from "../base/close-matches.ts";
import type { DocumentPlace } from "../base/document-place.ts";
import { quoteValue } from "../base/json-value.ts";
import { isTable, toJson } from "../base/toml-document.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { FORMATS } from "../schema/keywords-and-formats.ts";
import { SCHEMA_TYPES, type SchemaType } from "../schema/schema-vocabulary.ts";
import { FIELD_KEYS } from "./endpoint-file-schema.ts";

const KNOWN = Object.keys(FIELD_KEYS);
const FIELD_TYPES = SCHEMA_TYPES.filter((type) => type !== "null");

/**
 * `[[endpoint.input.required]]` and `[[endpoint.input.optional]]`; absent: no parameters at all. A
 * parameter of the path that is in neither list is a string: files of this form leave it out.
 */
export function readInputFields(
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

/** `[[endpoint.output]]`. */
export function readOutputFields(endpoint: DocumentPlace): JsonSchema {
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

/** Adds one field; answers its name. */
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
    ...(type === undefined ? {} : { type }),
    ...(description === undefined ? {} : { description }),
    ...(format === undefined ? {} : { format }),
    ...(field.has("enum") ? { enum: toJson(field.at("enum").value) } : {}),
    ...own,
  };
}

/** A format that cannot be checked is a hint for people: files of this form have such. */
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

/** The full schema that a field may carry besides. */
function readOwnSchema(field: DocumentPlace): JsonSchema {
  if (!field.has("schema")) return {};
  const raw = field.at("schema").value;
  const schema = isTable(raw) ? toJson(raw) : undefined;
  if (typeof schema === "object" && schema !== null) return schema as JsonSchema;
  field.at("schema").fail("must be a table that is a JSON Schema");
  return {};
}
