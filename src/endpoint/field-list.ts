/**
 * The other form of a schema: a list of fields, required or optional, with a type each. It becomes
 * the JSON Schema it stands for: a closed input, an open output whose fields are all required.
 * AGTP-API §6.4, §13.3
 */
import { suggest } from "../base/close-matches.ts";
import { quoteValue } from "../base/json-value.ts";
import type { TableReader } from "../base/table-reader.ts";
import { isTable, toJson } from "../base/toml-document.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { FORMATS } from "../schema/schema-formats.ts";
import { SCHEMA_TYPES, type SchemaType } from "../schema/schema-vocabulary.ts";

const FIELD_KEYS = ["name", "type", "description", "format", "enum", "schema"];
const FIELD_TYPES = SCHEMA_TYPES.filter((type) => type !== "null");

/**
 * `[[endpoint.input.required]]` and `[[endpoint.input.optional]]`; absent: no parameters at all. A
 * parameter of the path that is in neither list is a string: files of this form leave it out.
 */
export function readInputFields(
  input: TableReader | undefined,
  pathParameters: readonly string[],
): JsonSchema {
  const fields = new Map<string, JsonSchema>();
  const required: string[] = [];
  for (const field of input?.tables("required", FIELD_KEYS) ?? []) {
    const name = readField(field, fields);
    if (name !== undefined) required.push(name);
  }
  for (const field of input?.tables("optional", FIELD_KEYS) ?? []) readField(field, fields);
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
export function readOutputFields(endpoint: TableReader): JsonSchema {
  const fields = new Map<string, JsonSchema>();
  for (const field of endpoint.tables("output", FIELD_KEYS)) readField(field, fields);
  const required = [...fields.keys()];
  return {
    type: "object",
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: true,
    properties: Object.fromEntries(fields),
  };
}

/** Adds one field; answers its name. */
function readField(field: TableReader, fields: Map<string, JsonSchema>): string | undefined {
  const name = field.text("name");
  const schema = readFieldSchema(field);
  if (name === undefined) return undefined;
  if (fields.has(name)) return field.fail("name", `${JSON.stringify(name)} a second time`);
  fields.set(name, schema);
  return name;
}

function readFieldSchema(field: TableReader): JsonSchema {
  const own = readOwnSchema(field);
  const type = own["type"] === undefined || field.has("type") ? readType(field, own) : undefined;
  const description = field.optionalText("description");
  const format = readFormat(field);
  return {
    ...(type === undefined ? {} : { type }),
    ...(description === undefined ? {} : { description }),
    ...(format === undefined ? {} : { format }),
    ...(field.has("enum") ? { enum: toJson(field.raw("enum")) } : {}),
    ...own,
  };
}

/** A format that cannot be checked is a hint for people: files of this form have such. */
function readFormat(field: TableReader): string | undefined {
  const format = field.optionalText("format");
  if (format === undefined || FORMATS.has(format)) return format;
  const message = `is ${quoteValue(format)}, which is no known format and is not checked`;
  const hint = suggest(format, FORMATS.keys());
  field.report({
    ...field.at("format"),
    message,
    ...(hint === undefined ? {} : { hint }),
    severity: "warning",
  });
  return undefined;
}

function readType(field: TableReader, own: JsonSchema): SchemaType | undefined {
  const type = field.word("type", FIELD_TYPES);
  const inner = own["type"];
  if (type !== undefined && inner !== undefined && ![inner].flat().includes(type)) {
    return field.fail("type", `is "${type}", but the type in "schema" is another one`);
  }
  return type;
}

/** The full schema that a field may carry besides. */
function readOwnSchema(field: TableReader): JsonSchema {
  if (!field.has("schema")) return {};
  const raw = field.raw("schema");
  const schema = isTable(raw) ? toJson(raw) : undefined;
  if (typeof schema === "object" && schema !== null) return schema as JsonSchema;
  field.fail("schema", "must be a table that is a JSON Schema");
  return {};
}
