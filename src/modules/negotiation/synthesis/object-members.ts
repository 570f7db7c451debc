/**
 * The declared members of an object schema, and the required ones. Root references and `allOf` branches are followed;
 * members that only some objects have are not guaranteed.
 */

import { isRecord } from "../../../base/json-value.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { resolveLocalReference } from "../../../schema/local-reference.ts";
import type { PropertySchema } from "./schema-kind.ts";

/** Properties by name; a required one without a schema has `true`. */
interface ObjectMembers {
  readonly properties: ReadonlyMap<string, PropertySchema>;
  readonly required: ReadonlySet<string>;
}

const MAX_SCHEMAS = 64;

/** Keywords that can reject an object with valid members. */
const CONDITIONS = [
  ...["anyOf", "oneOf", "not", "if", "enum", "const", "dependentRequired", "dependentSchemas"],
  ...["minProperties", "maxProperties", "propertyNames", "patternProperties"],
];

/** Keywords that restrict members beyond `properties`. */
const CLOSING = [
  ...["additionalProperties", "unevaluatedProperties", "patternProperties"],
  ...["propertyNames", "maxProperties"],
];

/** The members of objects that a schema describes. */
export function membersOf(schema: JsonSchema): ObjectMembers {
  const properties = new Map<string, PropertySchema>();
  const required = new Set<string>();
  for (const part of partsOf(schema)) {
    if (isRecord(part["properties"])) {
      for (const [name, property] of Object.entries(part["properties"])) {
        if (!isPropertySchema(property)) continue;
        const known = properties.get(name);
        properties.set(name, known === undefined ? property : { allOf: [known, property] });
      }
    }
    if (!Array.isArray(part["required"])) continue;
    for (const name of part["required"]) if (typeof name === "string") required.add(name);
  }
  for (const name of required) if (!properties.has(name)) properties.set(name, true);
  return { properties, required };
}

/** The first keyword that can reject an object with valid members. */
export function findCondition(schema: JsonSchema): string | undefined {
  const parts = partsOf(schema);
  if (parts.length === MAX_SCHEMAS) return "allOf";
  return CONDITIONS.find((keyword) => parts.some((part) => Object.hasOwn(part, keyword)));
}

/** Tells whether an object may have members that the schema does not name. */
export function isOpen(schema: JsonSchema): boolean {
  return partsOf(schema).every((part) =>
    CLOSING.every((keyword) => !Object.hasOwn(part, keyword) || part[keyword] === true),
  );
}

function isPropertySchema(property: unknown): property is PropertySchema {
  return typeof property === "boolean" || isRecord(property);
}

/** The schemas that apply to the object itself, without duplicates. */
function partsOf(root: JsonSchema): readonly JsonSchema[] {
  const parts = new Set<JsonSchema>([root]);
  for (const { $ref, allOf } of parts) {
    const more: readonly unknown[] = [
      ...(Array.isArray(allOf) ? allOf : []),
      ...(typeof $ref === "string" ? [resolveLocalReference($ref, root)] : []),
    ];
    for (const part of more) if (isRecord(part) && parts.size < MAX_SCHEMAS) parts.add(part);
  }
  return [...parts];
}
