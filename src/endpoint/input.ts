/**
 * The input of an invocation: query, path values and body, merged into the one object that the input
 * schema judges. Path values win over the body, the body wins over the query. A query that is
 * malformed is undefined; 400 and 422 are the gate's to give.   AGTP-API §5.3, §5.5
 */
import { isUtf8 } from "node:buffer";
import { type JsonRecord, setMember } from "../base/json-value.ts";
import type { InputShape, ScalarType } from "./input-shape.ts";
import type { UndeclaredMembers } from "./undeclared-members.ts";

const MAX_QUERY_FIELDS = 1024;

/**
 * Reads a query string: percent-decoded, a plus is a plus, the last value of a repeated key counts.
 * Undefined: malformed encoding, not UTF-8, or more than 1024 fields.
 */
export function parseQuery(query: string): Map<string, string> | undefined {
  const fields = new Map<string, string>();
  let count = 0;
  let start = 0;
  while (start <= query.length) {
    const ampersand = query.indexOf("&", start);
    const end = ampersand === -1 ? query.length : ampersand;
    count += 1;
    if (count > MAX_QUERY_FIELDS) return undefined;
    if (end > start && !addField(fields, query.slice(start, end))) return undefined;
    start = end + 1;
  }
  return fields;
}

/** False: its encoding is malformed. */
function addField(fields: Map<string, string>, part: string): boolean {
  const equals = part.indexOf("=");
  const name = decodePart(equals === -1 ? part : part.slice(0, equals));
  const value = decodePart(equals === -1 ? "" : part.slice(equals + 1));
  if (name === undefined || value === undefined) return false;
  fields.set(name, value);
  return true;
}

/** A name or a value of a query, or a segment of a path; undefined: it is not percent-encoded UTF-8. */
export function decodePart(text: string): string | undefined {
  if (!text.includes("%")) return text;
  // A throw costs 2.5 µs, more than a query is worth.
  if (INCOMPLETE_ENCODING.test(text) || !hasEncodedUtf8(text)) return undefined;
  return decodeURIComponent(text);
}

const INCOMPLETE_ENCODING = /%(?![0-9A-Fa-f]{2})/;
const ENCODED_OCTETS = /(?:%[0-9A-Fa-f]{2})+/g;
const BEYOND_ASCII = /%[89A-Fa-f]/;

/** Tells whether the encoded octets that stand together are UTF-8; those of ASCII are. */
function hasEncodedUtf8(text: string): boolean {
  if (!BEYOND_ASCII.test(text)) return true;
  const runs = text.match(ENCODED_OCTETS) ?? [];
  return runs.every((run) => isUtf8(Buffer.from(run.replaceAll("%", ""), "hex")));
}

/** Decodes captured segments once; answers the raw segment that cannot be decoded. */
export function decodeValues(
  values: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | string | undefined {
  if (values === undefined) return undefined;
  const decoded: Record<string, string> = {};
  for (const name of Object.keys(values)) {
    const raw = values[name]!;
    const value = decodePart(raw);
    if (value === undefined) return raw;
    setMember(decoded, name, value);
  }
  return decoded;
}

/**
 * Merges decoded path values, body and query. Texts from the path and the query become what their
 * schema declares; a text that does not fit stays one, and validation reports it. The body's own
 * values are never changed, and without path and query the body itself is the input. A query may be
 * given stand-ins for names that nobody declared, as its body.
 */
export function mergeInput(
  shape: InputShape,
  body: JsonRecord | undefined,
  query: ReadonlyMap<string, string> | undefined,
  pathValues: Readonly<Record<string, string>> | undefined,
  undeclared?: UndeclaredMembers,
): JsonRecord {
  const fromBody = body ?? {};
  const hasQuery = query !== undefined && query.size > 0;
  if (!hasQuery && pathValues === undefined) return fromBody;
  const merged: Record<string, unknown> = {};
  if (hasQuery) {
    for (const [name, text] of query) {
      setMember(merged, undeclared?.nameOf(name) ?? name, coerce(shape, name, text));
    }
  }
  for (const name of Object.keys(fromBody)) setMember(merged, name, fromBody[name]);
  if (pathValues !== undefined) {
    for (const name of Object.keys(pathValues)) {
      setMember(merged, name, coerce(shape, name, pathValues[name]!));
    }
  }
  return merged;
}

function coerce({ scalars }: InputShape, name: string, text: string): unknown {
  const types = scalars.get(name);
  return types === undefined ? text : coerceText(text, types);
}

const INTEGER = /^-?(?:0|[1-9]\d*)$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Coerces a text to one of the declared types; one that fits none stays a text. */
export function coerceText(text: string, types: readonly ScalarType[]): unknown {
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  const isNumber = types.includes("number") ? NUMBER.test(text) : INTEGER.test(text);
  if (!isNumber || !(types.includes("number") || types.includes("integer"))) return text;
  const number = Number(text);
  // An integer beyond 2^53 would silently become another one.
  const isExact = Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
  return isExact ? number : text;
}
