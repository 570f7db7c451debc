/**
 * Schemas of endpoints as MCP wants them of tools. Both are JSON Schema 2020-12, so that nothing is
 * translated: MCP only wants an input to say that it is an object, which every input here is; and
 * the older protocol wants the same of an output, so that of any other it is told nothing.
 * MCP "Tools", AGTP-API §13
 */
import type { JsonSchema } from "../../../schema/json-schema.ts";

/** The input as a tool's; parameters of the path are among its properties already. */
export function toolInputSchema(schema: JsonSchema): JsonSchema {
  if (schema["type"] === "object") return schema;
  const { type, ...rest } = schema;
  // A type that admits no object admits no input at all, and must go on doing so.
  const isNever = type !== undefined && ![type].flat().includes("object");
  return { type: "object", ...rest, ...(isNever ? { not: {} } : {}) };
}

/** True if the older protocol can be told of an output. */
export function isObjectSchema(schema: JsonSchema): boolean {
  return schema["type"] === "object";
}
