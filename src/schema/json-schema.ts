/** A JSON Schema as written, not checked yet.   JSON Schema 2020-12 */

/** A JSON Schema 2020-12, as an object of keywords. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Builds the schema of an object with these members and no others. */
export function closedObject(properties: JsonSchema, required: readonly string[] = []): JsonSchema {
  return { type: "object", properties, required, additionalProperties: false };
}
