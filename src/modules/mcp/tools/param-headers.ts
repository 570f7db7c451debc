/**
 * Arguments that are repeated in header fields, so that intermediaries can route by them: properties of an input
 * schema with `x-mcp-header`. Field and argument must agree.   MCP "Streamable HTTP" (Custom Headers)
 */
import { isRecord, type JsonRecord, valueAt } from "../../../base/json-value.ts";
import { decodeUtf8 } from "../../../base/utf8.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { KEYWORDS } from "../../../schema/schema-vocabulary.ts";

/** An argument with its header field. */
export interface ParamHeader {
  /** Names of the properties that lead to the argument. */
  readonly path: readonly string[];
  /** Field name with the prefix, as clients are told it. */
  readonly field: string;
  readonly isInteger: boolean;
}

const MARK = "x-mcp-header";
const PREFIX = "Mcp-Param-";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
const MAX_DEPTH = 8;

/** Returns the arguments of a schema that have header fields. */
export function readParamHeaders(schema: JsonSchema): readonly ParamHeader[] {
  return headersIn(schema, []);
}

function headersIn({ properties }: JsonRecord, at: readonly string[]): readonly ParamHeader[] {
  if (!isRecord(properties) || at.length >= MAX_DEPTH) return [];
  return Object.entries(properties).flatMap(([name, property]) => {
    if (!isRecord(property)) return [];
    const path = [...at, name];
    const { type, [MARK]: header } = property;
    const own = { path, field: `${PREFIX}${String(header)}`, isInteger: type === "integer" };
    return [...(canBeTold(property) ? [own] : []), ...headersIn(property, path)];
  });
}

function canBeTold({ type, [MARK]: header }: JsonRecord): boolean {
  return typeof header === "string" && TOKEN.test(header) && TYPES.has(type);
}

interface Place {
  /** Number of property names on the way; undefined if other keywords are on it. */
  readonly depth: number | undefined;
  /** Field names so far, in lower case. */
  readonly taken: Set<string>;
}

/**
 * Returns the schema without invalid header marks, since clients drop a whole tool for one of them; the schema itself
 * if there are none.
 */
export function withToldHeaders(schema: JsonSchema): JsonSchema {
  return told(schema, { depth: 0, taken: new Set() });
}

function told(schema: JsonRecord, place: Place): JsonRecord {
  const isMarked = Object.hasOwn(schema, MARK);
  const own = isMarked && !takes(schema, place) ? withoutMark(schema) : schema;
  return mapped(own, (value, keyword) => {
    const kind = KEYWORDS.get(keyword);
    const depth =
      keyword === "properties" && place.depth !== undefined ? place.depth + 1 : undefined;
    const inner = (one: unknown): unknown => (isRecord(one) ? told(one, { ...place, depth }) : one);
    if (kind === "schema") return inner(value);
    if (kind === "schema list" && Array.isArray(value)) return mappedList(value, inner);
    const isMap = kind === "schema map" || kind === "schema map by pattern";
    return isMap && isRecord(value) ? mapped(value, inner) : value;
  });
}

/** Claims the field of a property; false if it is invalid or claimed already. */
function takes(property: JsonRecord, { depth, taken }: Place): boolean {
  if (depth === undefined || depth === 0 || depth > MAX_DEPTH || !canBeTold(property)) return false;
  const field = String(property[MARK]).toLowerCase();
  const isFree = !taken.has(field);
  taken.add(field);
  return isFree;
}

function withoutMark({ [MARK]: _, ...rest }: JsonRecord): JsonRecord {
  return rest;
}

/** Maps the values of a record; returns the same record if none changes. */
function mapped(record: JsonRecord, map: (value: unknown, name: string) => unknown): JsonRecord {
  const entries = Object.entries(record).map(([name, value]) => [name, map(value, name)] as const);
  return entries.every(([name, value]) => record[name] === value)
    ? record
    : Object.fromEntries(entries);
}

function mappedList(
  list: readonly unknown[],
  map: (value: unknown) => unknown,
): readonly unknown[] {
  const values = list.map(map);
  return values.every((value, index) => list[index] === value) ? list : values;
}

/** Describes a disagreement between fields and arguments; undefined if there is none. */
export function disagreement(
  headers: readonly ParamHeader[],
  args: unknown,
  fieldOf: (name: string) => unknown,
): string | undefined {
  for (const header of headers) {
    const text = textOf(valueAt(args, header.path));
    if (text === undefined) continue;
    const field = fieldOf(header.field.toLowerCase());
    const name = header.path.join(".");
    if (typeof field !== "string") return `${header.field} is absent, and ${name} is not`;
    const told = decode(field);
    if (told === undefined) return `${header.field} is not encoded as it must be`;
    if (!isSame(told, text, header)) return `${header.field} says another thing than ${name}`;
  }
  return undefined;
}

function isSame(told: string, text: string, { isInteger }: ParamHeader): boolean {
  if (told === text) return true;
  return isInteger && /^-?\d+(?:\.\d+)?$/.test(told) && Number(told) === Number(text);
}

/** Undefined for values that no field can carry. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string" || typeof value === "boolean") return String(value);
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

const ENCODED = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/;

/** Decodes a field value, which may be base64; undefined if the encoding is invalid. */
function decode(field: string): string | undefined {
  if (!field.startsWith("=?base64?") || !field.endsWith("?=")) return field;
  const [, base64] = ENCODED.exec(field) ?? [];
  return base64 === undefined ? undefined : decodeUtf8(Buffer.from(base64, "base64"));
}
