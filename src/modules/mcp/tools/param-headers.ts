/**
 * Arguments that are told in header fields as well, so that what stands between client and server can
 * route by them: properties of an input schema with `x-mcp-header`. Where both say something, they must
 * say the same.   MCP "Streamable HTTP" (Custom Headers)
 */
import { isRecord, type JsonRecord, valueAt } from "../../../base/json-value.ts";
import { decodeUtf8 } from "../../../base/utf8.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { KEYWORDS } from "../../../schema/schema-vocabulary.ts";

/** An argument with a header field of its own. */
export interface ParamHeader {
  /** Names of the properties that lead to it. */
  readonly path: readonly string[];
  /** As clients are told it, with the prefix. */
  readonly field: string;
  readonly isInteger: boolean;
}

const MARK = "x-mcp-header";
const PREFIX = "Mcp-Param-";
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
const MAX_DEPTH = 8;

/** The arguments of a schema that have header fields. */
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
  /** How many names of properties lead to it; undefined: something else does as well. */
  readonly depth: number | undefined;
  /** The fields so far, in lower case. */
  readonly taken: Set<string>;
}

/**
 * The schema without the header fields that no client may tell: clients leave out a whole tool for one of
 * them. The schema itself where there is none.
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

/** Takes the field of a property, which is the first to name it. */
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

/** The same record where nothing in it becomes another thing. */
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

/** In what the fields and the arguments disagree; undefined: in nothing. */
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

/** Other values are told in no field. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string" || typeof value === "boolean") return String(value);
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

const ENCODED = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/;

/** Values that cannot stand in a field are in base64; undefined: not in any that there is. */
function decode(field: string): string | undefined {
  if (!field.startsWith("=?base64?") || !field.endsWith("?=")) return field;
  const [, base64] = ENCODED.exec(field) ?? [];
  return base64 === undefined ? undefined : decodeUtf8(Buffer.from(base64, "base64"));
}
