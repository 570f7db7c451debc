/** The words of a schema: the names of its members and what is written about them. */

import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { propertiesOf } from "../../endpoint/input-shape.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";

const MAX_DEPTH = 3;
const MAX_MEMBERS = 256;

/** Names and descriptions, as texts to be searched. */
export interface SchemaWords {
  readonly names: string;
  readonly descriptions: string;
}

/** The words of a schema, its nested members included as far as they matter. */
export function schemaWords(schema: JsonSchema): SchemaWords {
  const names: string[] = [];
  const descriptions: string[] = [];
  const visit = (part: JsonRecord, depth: number): void => {
    for (const [name, property] of Object.entries(propertiesOf(part))) {
      if (names.length === MAX_MEMBERS) return;
      names.push(name);
      if (!isRecord(property)) continue;
      const { description, title, items, enum: values } = property;
      for (const text of [title, description])
        if (typeof text === "string") descriptions.push(text);
      if (Array.isArray(values)) descriptions.push(values.slice(0, MAX_MEMBERS).join(" "));
      if (depth === MAX_DEPTH) continue;
      visit(property, depth + 1);
      if (isRecord(items)) visit(items, depth + 1);
    }
  };
  visit(schema, 0);
  return { names: names.join(" "), descriptions: descriptions.join(" ") };
}

/** One member in words: `guest_id (string, uuid)`. */
export function memberInWords(name: string, property: unknown): string {
  if (!isRecord(property)) return name;
  const { type, format, enum: values } = property;
  const kind = Array.isArray(values)
    ? `one of ${values
        .slice(0, MAX_VALUES)
        .map((value) => JSON.stringify(value))
        .join(", ")}`
    : [type, format]
        .flat()
        .filter((one) => typeof one === "string")
        .join(", ");
  return kind === "" ? name : `${name} (${kind})`;
}

const MAX_VALUES = 12;
