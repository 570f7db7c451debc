/** Whether one property's values may be another one's, as planners ask it of kinds. */
import type { JsonSchema } from "../../src/contract/json-schema.ts";
import { isKindCovered } from "../../src/synthesis/schema-compatibility.ts";
import { kindOfSchema, type PropertySchema } from "../../src/synthesis/schema-kind.ts";

/** `roots`: the schemas that the properties' references are into. */
export function isCompatible(
  from: PropertySchema,
  to: PropertySchema,
  roots: { readonly from: JsonSchema; readonly to: JsonSchema } = {
    from: rootOf(from),
    to: rootOf(to),
  },
): boolean {
  return isKindCovered(kindOfSchema(from, roots.from), kindOfSchema(to, roots.to));
}

function rootOf(schema: PropertySchema): JsonSchema {
  return typeof schema === "boolean" ? {} : schema;
}
