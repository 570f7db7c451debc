/**
 * The schema dialect of OpenAPI 3.0 and of older drafts in the words of JSON Schema 2020-12, keyword
 * by keyword. `nullable` is left to `allowNull`, which needs the whole schema.
 */
import { isRecord, type JsonRecord } from "../base/json-value.ts";

/** Writes a schema in newer words; only the keywords of this one schema are looked at. */
export function modernise(schema: JsonRecord, isOld: boolean): JsonRecord {
  const { example, ...rest } = schema;
  return {
    // In 3.0 a reference stands alone, whatever is written beside it.
    ...(isOld && typeof rest["$ref"] === "string" ? referenceOnly(rest) : rest),
    ...exampleOf(rest, example),
    ...limits(rest, "minimum", "exclusiveMinimum"),
    ...limits(rest, "maximum", "exclusiveMaximum"),
    ...tuple(rest),
    ...dependencies(rest),
  };
}

function referenceOnly({ $ref, description, title }: JsonRecord): JsonRecord {
  return {
    $ref,
    ...(description === undefined ? {} : { description }),
    ...(title === undefined ? {} : { title }),
  };
}

function exampleOf({ examples }: JsonRecord, example: unknown): JsonRecord {
  // Long examples would make most of an endpoint file.
  const isShown = example !== undefined && examples === undefined && typeof example !== "object";
  if (isShown) return { examples: [example] };
  const isShort = Array.isArray(examples) && JSON.stringify(examples).length <= 200;
  return examples === undefined || isShort ? {} : { examples: undefined };
}

/** `exclusiveMinimum: true` beside a minimum is an exclusive minimum. */
function limits(schema: JsonRecord, limit: string, exclusive: string): JsonRecord {
  const flag = schema[exclusive];
  if (typeof flag !== "boolean") return {};
  return flag && typeof schema[limit] === "number"
    ? { [exclusive]: schema[limit], [limit]: undefined }
    : { [exclusive]: undefined };
}

/** A list of schemas under `items` is what `prefixItems` is now. */
function tuple({ items, additionalItems }: JsonRecord): JsonRecord {
  if (!Array.isArray(items))
    return additionalItems === undefined ? {} : { additionalItems: undefined };
  return { prefixItems: items, items: additionalItems, additionalItems: undefined };
}

function dependencies({ dependencies: written }: JsonRecord): JsonRecord {
  if (!isRecord(written)) return {};
  const entries = Object.entries(written);
  const lists = entries.filter(([, value]) => Array.isArray(value));
  const schemas = entries.filter(([, value]) => isRecord(value));
  return {
    dependencies: undefined,
    ...(lists.length === 0 ? {} : { dependentRequired: Object.fromEntries(lists) }),
    ...(schemas.length === 0 ? {} : { dependentSchemas: Object.fromEntries(schemas) }),
  };
}
