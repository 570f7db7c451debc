/**
 * Renders field tables in the two forms that clients request: JSON Schema 2020-12, with closed objects and null for
 * optional fields, and the legacy descriptors `type`, `fields`, `required`, `enum`, `min`, `nullable`.   agentcli
 * protocol "agentcli.schema"
 */
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { TEXT_PATTERNS } from "./check-field.ts";
import { BLOCKS, type Field, type Fields } from "./fields.ts";
import { fieldsOf, isRequired, TRUST_LEVEL } from "./tables.ts";

/** The schema of a block. */
export function blockSchema(fields: Fields): JsonSchema {
  const known = Object.entries(fields).filter(([, field]) => !isRemoved(field));
  return {
    type: "object",
    required: requiredOf(fields),
    properties: Object.fromEntries(
      known.map(([name, field]) => [name, fieldSchema(field, isRequired(field))]),
    ),
    additionalProperties: false,
  };
}

function requiredOf(fields: Fields): readonly string[] {
  return Object.entries(fields).flatMap(([name, field]) => (isRequired(field) ? [name] : []));
}

function isRemoved(field: Field): boolean {
  return typeof field === "object" && "removed" in field;
}

function fieldSchema(field: Field, mustBeThere: boolean): JsonSchema {
  const schema = bareSchema(field);
  if (mustBeThere) return schema;
  const { type, enum: values, ...rest } = schema;
  if (typeof type !== "string") return { anyOf: [schema, { type: "null" }] };
  return {
    type: [type, "null"],
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
    ...rest,
  };
}

function bareSchema(field: Field): JsonSchema {
  if (typeof field === "string") return wordSchema(field);
  if ("among" in field) return { type: "string", enum: field.among };
  if ("integer" in field) return { type: "integer", minimum: field.integer };
  if ("number" in field) return { type: "number", minimum: field.number };
  if ("list" in field) return { type: "array", items: fieldSchema(field.list, true) };
  if ("type" in field) return { type: field.type };
  return blockSchema(fieldsOf(field) ?? {});
}

function wordSchema(word: Extract<Field, string>): JsonSchema {
  switch (word) {
    case "string":
    case "string!":
    case "command line":
      // Requires a non-space character.
      return { type: "string", pattern: TEXT_PATTERNS.string, allOf: [{ pattern: "\\S" }] };
    case "identifier":
    case "identifier!":
      return { type: "string", pattern: TEXT_PATTERNS.identifier };
    case "token":
    case "token!":
      return { type: "string", pattern: TEXT_PATTERNS.token };
    case "variable":
      return { type: "string", pattern: TEXT_PATTERNS.environmentName };
    case "file prefix":
      return { type: "string", pattern: TEXT_PATTERNS.filePrefix };
    case "condition":
      return { type: "string", pattern: "^(?:contains|regex):[\\s\\S]*\\S" };
    case "text":
      return { type: "string" };
    case "boolean":
      return { type: "boolean" };
    case "list":
      return { type: "array" };
    case "trust level":
      return bareSchema(TRUST_LEVEL);
    case "map":
    case "merged map":
      return { type: "object" };
    case "environment":
      return {
        type: "object",
        propertyNames: { pattern: TEXT_PATTERNS.environmentName },
        additionalProperties: wordSchema("string"),
      };
    case "source":
    case "source or literal":
      return sourceSchema(word);
    case "identity":
      return {
        anyOf: [blockSchema(BLOCKS.structured_identity), blockSchema(BLOCKS.flat_identity)],
      };
    default:
      return blockSchema(fieldsOf(word) ?? {});
  }
}

function sourceSchema(word: "source" | "source or literal"): JsonSchema {
  const { literal: _, ...others } = BLOCKS.source;
  const fields: Fields = word === "source" ? others : BLOCKS.source;
  return {
    ...blockSchema(fields),
    anyOf: Object.keys(fields).map((name) => ({
      required: [name],
      properties: { [name]: { type: "string" } },
    })),
  };
}

export type Descriptor = Readonly<Record<string, unknown>>;

/** The legacy descriptor of a block. */
export function describeBlock(fields: Fields): Descriptor {
  const required = requiredOf(fields);
  return {
    type: "object",
    ...(required.length === 0 ? {} : { required }),
    fields: Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, describeField(field)]),
    ),
  };
}

function describeField(field: Field): Descriptor {
  const bare = describeBare(field);
  return isRequired(field) || isRemoved(field) ? bare : { ...bare, nullable: true };
}

function describeBare(field: Field): Descriptor {
  if (typeof field === "string") return describeWord(field);
  if ("among" in field) return { type: "string", enum: field.among };
  if ("integer" in field) return { type: "integer", min: field.integer };
  if ("number" in field) return { type: "number", min: field.number };
  if ("list" in field) return { type: "array", items: describeBare(field.list) };
  if ("type" in field) return { type: field.type };
  if ("whole" in field) return describeBlock(fieldsOf(field) ?? {});
  return { type: "string", removed: true, note: "use shell.program and shell.args" };
}

function describeWord(word: Extract<Field, string>): Descriptor {
  switch (word) {
    case "token":
    case "token!":
      return { type: "string", format: "token", note: "restricted to /^[A-Za-z0-9@:_./-]+$/" };
    case "boolean":
      return { type: "boolean" };
    case "list":
      return { type: "array" };
    case "trust level":
      return describeBare(TRUST_LEVEL);
    case "map":
    case "merged map":
      return { type: "object" };
    case "environment":
      return { type: "object", values: { type: "string" } };
    case "identity":
      return describeBlock({ ...BLOCKS.flat_identity, ...BLOCKS.structured_identity });
    default: {
      const fields = fieldsOf(word);
      return fields === undefined ? { type: "string" } : describeBlock(fields);
    }
  }
}
