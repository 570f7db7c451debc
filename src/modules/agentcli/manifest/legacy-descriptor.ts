/**
 * The tables of fields as the descriptors that clients of old read: `type`, `fields`, `required`,
 * `enum`, `min`, `nullable`. These are no JSON Schema.   agentcli protocol "agentcli.schema"
 */
import type { Field, Fields } from "./field.ts";
import { FLAT_IDENTITY, STRUCTURED_IDENTITY } from "./identity-fields.ts";

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

/** The descriptor of one field. */
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
