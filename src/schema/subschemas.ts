/**
 * The places of schemas within a schema, by the vocabulary: a property may be called like a
 * keyword.
 */
import { isRecord } from "../base/json-value.ts";
import { KEYWORDS } from "./schema-vocabulary.ts";

/** The value of a keyword with its schemas replaced; a value that holds none is left as it is. */
export function mapSubschemas(
  keyword: string,
  value: unknown,
  map: (schema: unknown) => unknown,
): unknown {
  switch (KEYWORDS.get(keyword)) {
    case "schema":
      return map(value);
    case "schema list":
      return Array.isArray(value) ? value.map(map) : value;
    case "schema map":
    case "schema map by pattern":
      if (!isRecord(value)) return value;
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, map(one)]));
    default:
      return value;
  }
}
