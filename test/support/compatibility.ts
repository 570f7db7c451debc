/** Whether one property's values may be another one's, as planners ask it of kinds. */

import {
  isKindCovered,
  kindOfSchema,
  type PropertySchema,
} from "../../src/modules/negotiation/synthesis/schema-kind.ts";
import type { JsonSchema } from "../../src/schema/json-schema.ts";

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
