/**
 * The tables of fields as JSON Schema 2020-12: closed objects, the patterns and limits of validation,
 * and null where a field may be left out.   agentcli protocol "agentcli.schema"
 */
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { TEXT_PATTERNS } from "./check-field.ts";
import type { Field, Fields } from "./field.ts";
import { FLAT_IDENTITY, STRUCTURED_IDENTITY } from "./identity-fields.ts";

/** The schema of a block. */
export function blockSchema(fields: Fields, required: readonly string[]): JsonSchema {
  return {
    type: "object",
    required,
    properties: Object.fromEntries(
      Object.entries(fields)
        .filter(([, field]) => field.kind !== "removed")
        .map(([name, field]) => [name, fieldSchema(field, required.includes(name))]),
    ),
    additionalProperties: false,
  };
}

/** The schema of one field. */
function fieldSchema(field: Field, isRequired = false): JsonSchema {
  const schema = bareSchema(field);
  if (isRequired) return schema;
  const { type, enum: values, ...rest } = schema;
  if (typeof type !== "string") return { anyOf: [schema, { type: "null" }] };
  return {
    type: [type, "null"],
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
    ...rest,
  };
}

function bareSchema(field: Field): JsonSchema {
  switch (field.kind) {
    case "string":
    case "command-line":
      // Not blank: white space alone says nothing.
      return { type: "string", pattern: TEXT_PATTERNS.string, allOf: [{ pattern: "\\S" }] };
    case "identifier":
    case "token":
      return { type: "string", pattern: TEXT_PATTERNS[field.kind] };
    case "condition":
      return { type: "string", pattern: "^(?:contains|regex):[\\s\\S]*\\S" };
    case "text":
      return { type: "string" };
    case "boolean":
      return { type: "boolean" };
    case "integer":
      return { type: "integer", minimum: field.min };
    case "number":
      return { type: "number", minimum: field.min };
    case "enum":
      return { type: "string", enum: field.values };
    case "list":
      return field.items === undefined
        ? { type: "array" }
        : { type: "array", items: fieldSchema(field.items, true) };
    case "map":
      return { type: "object" };
    case "environment":
      return {
        type: "object",
        propertyNames: { pattern: TEXT_PATTERNS.environmentName },
        additionalProperties: fieldSchema({ kind: "string" }, true),
      };
    case "block":
      return blockSchema(field.fields, field.required ?? []);
    case "source":
      return sourceSchema(field.literal);
    case "identity":
      return {
        anyOf: [blockSchema(STRUCTURED_IDENTITY, []), blockSchema(FLAT_IDENTITY, [])],
      };
    case "removed":
      return { not: {} };
  }
}

function sourceSchema(literal: boolean): JsonSchema {
  const names = ["env", "file", ...(literal ? ["literal"] : []), "command"];
  const text: Field = { kind: "string" };
  return {
    ...blockSchema(Object.fromEntries(names.map((name) => [name, text])), []),
    anyOf: names.map((name) => ({
      required: [name],
      properties: { [name]: { type: "string" } },
    })),
  };
}
