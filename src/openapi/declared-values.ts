/**
 * The values that a schema of a document declares for one of its properties, by `enum` and `const`,
 * through references and `allOf`, as authors write inheritance.
 */
import { isRecord, type JsonRecord } from "../base/json-value.ts";
import { resolveReference } from "./reference.ts";

/** The values; undefined where any text will do. */
export function declaredValues(
  schema: unknown,
  property: string,
  document: JsonRecord,
): readonly unknown[] | undefined {
  const parts = partsOf([schema], document);
  const declared = parts.flatMap(({ properties }) =>
    isRecord(properties) && Object.hasOwn(properties, property) ? [properties[property]] : [],
  );
  const lists = partsOf(declared, document).flatMap(valuesOf);
  const [first, ...others] = lists;
  return first?.filter((value) => others.every((list) => list.includes(value)));
}

/** Schemas with all that they consist of; each is looked at once, whatever refers to it. */
function partsOf(schemas: readonly unknown[], document: JsonRecord): readonly JsonRecord[] {
  const parts = new Set<JsonRecord>();
  const open = [...schemas];
  while (open.length > 0) {
    const schema = open.pop();
    if (!isRecord(schema) || parts.has(schema)) continue;
    parts.add(schema);
    const { $ref, allOf } = schema;
    if (typeof $ref === "string") open.push(resolveReference($ref, document)?.value);
    if (Array.isArray(allOf)) open.push(...allOf);
  }
  return [...parts];
}

function valuesOf(schema: JsonRecord): readonly (readonly unknown[])[] {
  const { enum: values, type } = schema;
  const isText = type === undefined || [type].flat().includes("string");
  return [
    ...(Array.isArray(values) ? [values] : []),
    ...(Object.hasOwn(schema, "const") ? [[schema["const"]]] : []),
    // A discriminator's value is a text, which this property cannot have.
    ...(isText || Array.isArray(values) ? [] : [[]]),
  ];
}
