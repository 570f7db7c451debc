/**
 * The schemas of an endpoint: JSON Schema 2020-12 both, the input closed, the output better open.
 * AGTP-API §5.3, §6.4, §13.3
 */

import type { DocumentPlace } from "../../base/document-place.ts";
import { describeValue, isRecord, type JsonRecord, quoteValue } from "../../base/json-value.ts";
import { OPERATOR_SCHEMA_BOUNDS, type SchemaBounds } from "../../schema/schema-bounds.ts";
import { checkSchema } from "../../schema/schema-check.ts";

/** Unknown keywords are for other readers: another server may have some. */
const BOUNDS: SchemaBounds = {
  ...OPERATOR_SCHEMA_BOUNDS,
  maxLength: 4_194_304,
  maxDepth: 64,
  maxProperties: 65_536,
  maxPatterns: 4096,
  maxReferences: 4096,
  isTolerant: true,
  takesForeignFormats: true,
};

/** Checks what an endpoint takes; every parameter of its path is among that. */
export function checkInputSchema(place: DocumentPlace, parameters: readonly string[]): void {
  const schema = readSchema(place);
  if (schema === undefined) return;
  if (schema["type"] !== "object") {
    place.at("type").fail(`${describeValue(schema["type"])}, expected "object"`);
  }
  if (schema["additionalProperties"] !== false) {
    const got = describeValue(schema["additionalProperties"]);
    place.at("additionalProperties").under("13.3").fail(`${got}, expected false`);
  }
  const { properties } = schema;
  for (const name of parameters) {
    if (isRecord(properties) && Object.hasOwn(properties, name)) continue;
    place
      .at("properties")
      .under("5.3")
      .fail(`lacks the parameter ${quoteValue(name)} of the path`);
  }
}

/** Checks what an endpoint answers with. */
export function checkOutputSchema(place: DocumentPlace): void {
  const schema = readSchema(place);
  if (schema?.["additionalProperties"] !== false) return;
  place.at("additionalProperties").under("13.3").warn("is false, expected true: outputs may grow");
}

function readSchema(place: DocumentPlace): JsonRecord | undefined {
  const schema = place.record()?.members;
  if (schema === undefined) return undefined;
  for (const { pointer, message } of checkSchema(schema, BOUNDS)) {
    place.failBelow(pointer, message);
  }
  return schema;
}
