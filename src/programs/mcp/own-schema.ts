/**
 * The input schema of a tool as an endpoint's. MCP's schemas are JSON Schema 2020-12, as those of
 * endpoints are: nothing has to be translated, and what clients go by stands in them.   MCP "Tools"
 */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";

/** Keywords that may declare properties in other places. */
const ELSEWHERE = [
  "$ref",
  "allOf",
  "anyOf",
  "oneOf",
  "if",
  "dependentSchemas",
  "patternProperties",
];

/** The schema with nothing let in that it does not name; undefined: that cannot be said of it. */
export function closeInput(schema: JsonRecord): JsonRecord | undefined {
  const { type, properties, additionalProperties } = schema;
  if (type !== "object" || (properties !== undefined && !isRecord(properties))) return undefined;
  if (additionalProperties === false) return schema;
  const isOpen = additionalProperties !== undefined || ELSEWHERE.some((name) => name in schema);
  if (isOpen) return undefined;
  return { ...schema, properties: properties ?? {}, additionalProperties: false };
}
