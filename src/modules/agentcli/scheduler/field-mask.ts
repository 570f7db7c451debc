/** Keeps some fields of a row; a dotted path reaches into a column that holds JSON. */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";

/** The fields that are there, under their own names and nesting. */
export function maskFields(row: JsonRecord, fields: readonly string[]): JsonRecord {
  let masked: JsonRecord = {};
  for (const field of fields) {
    const path = field.split(".");
    const value = reach(row, path);
    if (value !== undefined) masked = put(masked, path, value);
  }
  return masked;
}

function reach(value: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const record = typeof value === "string" ? parse(value) : value;
  return isRecord(record) && Object.hasOwn(record, key) ? reach(record[key], rest) : undefined;
}

function put(
  record: JsonRecord,
  [key = "", ...rest]: readonly string[],
  value: unknown,
): JsonRecord {
  if (rest.length === 0) return { ...record, [key]: value };
  const inner = Object.hasOwn(record, key) ? record[key] : undefined;
  return { ...record, [key]: put(isRecord(inner) ? inner : {}, rest, value) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
