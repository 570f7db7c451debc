/** A JSON Schema as it is written: keywords, checked by nobody yet.   JSON Schema 2020-12 */

/** A JSON Schema 2020-12, as an object of keywords. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The schema of an object with these members and no others. */
export function closedObject(properties: JsonSchema, required: readonly string[] = []): JsonSchema {
  return { type: "object", properties, required, additionalProperties: false };
}
