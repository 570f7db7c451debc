/**
 * The members of an object as its schema declares them: which properties there are, and which must
 * be there. References and the branches of `allOf` at the root are followed; what only some objects
 * have is not counted on.
 */

import { isRecord } from "../../../base/json-value.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { resolveLocalReference } from "../../../schema/local-reference.ts";
import type { PropertySchema } from "./schema-kind.ts";

/** Properties by name; a required one that has no schema of its own has `true`. */
interface ObjectMembers {
  readonly properties: ReadonlyMap<string, PropertySchema>;
  readonly required: ReadonlySet<string>;
}

const MAX_SCHEMAS = 64;

/** Keywords by which an object can be refused though each of its members is right. */
const CONDITIONS = [
  ...["anyOf", "oneOf", "not", "if", "enum", "const", "dependentRequired", "dependentSchemas"],
  ...["minProperties", "maxProperties", "propertyNames", "patternProperties"],
];

/** Keywords that say something about members which `properties` does not name. */
const CLOSING = [
  ...["additionalProperties", "unevaluatedProperties", "patternProperties"],
  ...["propertyNames", "maxProperties"],
];

/** The members of the objects that a schema describes. */
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

/** The first keyword by which right members may still be refused together. */
export function findCondition(schema: JsonSchema): string | undefined {
  const parts = partsOf(schema);
  if (parts.length === MAX_SCHEMAS) return "allOf";
  return CONDITIONS.find((keyword) => parts.some((part) => Object.hasOwn(part, keyword)));
}

/** Tells whether an object may have any members besides those that the schema names. */
export function isOpen(schema: JsonSchema): boolean {
  return partsOf(schema).every((part) =>
    CLOSING.every((keyword) => !Object.hasOwn(part, keyword) || part[keyword] === true),
  );
}

function isPropertySchema(property: unknown): property is PropertySchema {
  return typeof property === "boolean" || isRecord(property);
}

/** The schemas that judge the object itself, each once. */
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
