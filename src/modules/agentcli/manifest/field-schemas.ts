/**
 * The tables of fields in both forms in which clients ask for them: as JSON Schema 2020-12, with closed
 * objects and null where a field may be left out, and as the descriptors of old, `type`, `fields`,
 * `required`, `enum`, `min`, `nullable`.   agentcli protocol "agentcli.schema"
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

/** A descriptor. */
export type Descriptor = Readonly<Record<string, unknown>>;

/** The descriptor of a block. */
export function describeBlock(fields: Fields, required: readonly string[] = []): Descriptor {
  return {
    type: "object",
    ...(required.length === 0 ? {} : { required }),
    fields: Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [
        name,
        describeField(field, required.includes(name)),
      ]),
    ),
  };
}

function describeField(field: Field, isRequired = false): Descriptor {
  const bare = describeBare(field);
  return isRequired || field.kind === "removed" ? bare : { ...bare, nullable: true };
}

function describeBare(field: Field): Descriptor {
  switch (field.kind) {
    case "string":
    case "text":
    case "identifier":
    case "condition":
    case "command-line":
      return { type: "string" };
    case "token":
      return { type: "string", format: "token", note: "restricted to /^[A-Za-z0-9@:_./-]+$/" };
    case "boolean":
      return { type: "boolean" };
    case "integer":
    case "number":
      return { type: field.kind, min: field.min };
    case "enum":
      return { type: "string", enum: field.values };
    case "list":
      return field.items === undefined
        ? { type: "array" }
        : { type: "array", items: describeField(field.items, true) };
    case "map":
      return { type: "object" };
    case "environment":
      return { type: "object", values: { type: "string" } };
    case "block":
      return describeBlock(field.fields, field.required);
    case "source":
      return describeBlock({
        env: { kind: "string" },
        file: { kind: "string" },
        ...(field.literal ? { literal: { kind: "string" } } : {}),
        command: { kind: "string" },
      });
    case "identity":
      return describeBlock({ ...FLAT_IDENTITY, ...STRUCTURED_IDENTITY });
    case "removed":
      return { type: "string", removed: true, note: "use shell.program and shell.args" };
  }
}
