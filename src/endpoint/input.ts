/**
 * The input of a call: the body's JSON object, without its envelope if it has one, merged with
 * query and path values into the object that the input schema checks. Path values win over the
 * body, which wins over the query. Malformed input yields undefined or a message; the gates answer
 * 400 and 422.   AGTP "Request Body", AGTP-API §5.3, §5.5, §6.4
 */
import { Buffer, isAscii, isUtf8 } from "node:buffer";
import { escapeToken } from "../base/dotted-key.ts";
import { findLostNumbers, isLostNumber, lossOf } from "../base/exact-numbers.ts";
import {
  excessInWords,
  type JsonBounds,
  type JsonExcess,
  REQUEST_BOUNDS,
  scanJson,
} from "../base/json-bounds.ts";
import { mayBeJson } from "../base/json-octets.ts";
import { clip, isRecord, type JsonRecord, parseJson, setMember } from "../base/json-value.ts";
import { isTooDeep, MAX_DEPTH } from "../base/nesting.ts";
import { decodePart } from "../base/percent-encoding.ts";
import type { SchemaViolation } from "../schema/schema-violation.ts";
import { ENVELOPE_KEYS } from "./declared-members.ts";
import type { InputShape, ScalarType } from "./input-shape.ts";
import type { BodyEncoding, UndeclaredMembers } from "./undeclared-members.ts";

/** Options for reading a body. */
interface BodyReading {
  /** Members whose reader checks the depth itself; they are cut off just beyond the limit. */
  readonly deepMembers?: ReadonlySet<string> | undefined;
  /** True if the sender has sent invalid JSON before, which is then found without an exception. */
  readonly isDoubtful?: boolean;
  /** The body as text, if it is ASCII and short. */
  readonly text?: string | undefined;
  /** Replaces undeclared names by stand-ins. */
  readonly undeclared?: UndeclaredMembers | undefined;
}

/** The JSON object of a body, or the reason why it is none. */
type ParsedBody =
  | { readonly kind: "ok"; readonly value: JsonRecord }
  | { readonly kind: "invalid"; readonly message: string };

/** The task and session that a body names. */
export interface Identifiers {
  readonly taskId?: string;
  readonly sessionId?: string;
}

/** A body without its envelope. */
interface Unwrapped extends Identifiers {
  readonly parameters: JsonRecord;
}

/** The message about a body that cannot be parsed. */
export const NO_JSON = "the body is not JSON";

/** The depth at which a body is cut off, with room for its envelope. */
const BOUNDS: JsonBounds = { ...REQUEST_BOUNDS, cutDepth: REQUEST_BOUNDS.depth + 16 };

/**
 * Reads a body: UTF-8, a JSON object, at most 64 levels deep, with at most 10,000 members and
 * 50,000 values. An empty body is `{}`.
 */
export function parseBody(
  bytes: Uint8Array,
  { deepMembers, undeclared, text, isDoubtful = false }: BodyReading = {},
): ParsedBody {
  if (bytes.length === 0) return { kind: "ok", value: {} };
  const { excess, cuts } = scanJson(bytes, BOUNDS);
  const isDeep = excess === "depth";
  if (excess !== undefined && (!isDeep || deepMembers === undefined)) return tooMuch(excess);
  if (text !== undefined && !isDeep && !isDoubtful && undeclared === undefined) {
    return parsed(parseJson(text));
  }
  const buffer = asBuffer(isDeep ? cutDeep(bytes, cuts) : bytes);
  const encoding = text === undefined ? encodingOf(buffer) : "latin1";
  if (encoding === undefined) return invalid("the body is not UTF-8");
  if (isDoubtful && !isDeep && !mayBeJson(bytes, MAX_DEPTH)) return invalid(NO_JSON);
  const value =
    isDeep || undeclared === undefined
      ? parseJson(buffer.toString(encoding))
      : undeclared.parse(buffer, encoding, text);
  const isBeyond = isDeep && value !== undefined && isTooDeep(value, MAX_DEPTH, deepMembers);
  return isBeyond ? tooMuch("depth") : parsed(value);
}

/** Checks a parsed body; undefined is invalid JSON. */
function parsed(value: unknown): ParsedBody {
  if (isRecord(value)) return { kind: "ok", value };
  if (value === undefined) return invalid(NO_JSON);
  const found = Array.isArray(value) ? "an array" : value === null ? "null" : `a ${typeof value}`;
  return invalid(`the body is ${found}, expected a JSON object`);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Returns the encoding; most bodies are ASCII, which decodes several times faster as latin1. */
function encodingOf(buffer: Buffer): BodyEncoding | undefined {
  if (isAscii(buffer)) return "latin1";
  return isUtf8(buffer) ? "utf8" : undefined;
}

function invalid(message: string): ParsedBody {
  return { kind: "invalid", message };
}

function tooMuch(excess: JsonExcess): ParsedBody {
  return invalid(`the body ${excessInWords(excess, BOUNDS)}`);
}

/** Removes the content of brackets at the cut depth, since parsing half a million of them takes a second. */
function cutDeep(bytes: Uint8Array, cuts: readonly number[]): Uint8Array {
  const kept: Uint8Array[] = [];
  let from = 0;
  // A bracket that is never closed keeps its content.
  for (let at = 1; at < cuts.length; at += 2) {
    kept.push(bytes.subarray(from, cuts[at - 1]));
    from = cuts[at] ?? from;
  }
  return Buffer.concat([...kept, bytes.subarray(from)]);
}

/**
 * Removes the envelope of a body, if it has one: `parameters` is an object, and the body names the
 * request line's method or has only an envelope's members. The request line's method is
 * authoritative.   AGTP "Request Body"
 */
export function unwrapEnvelope(value: JsonRecord, method: string): Unwrapped {
  const { parameters } = value;
  if (!isRecord(parameters) || !isEnvelope(value, method)) return { parameters: value };
  return { parameters, ...identifiersIn(value) };
}

/** Returns the identifiers of an object; only texts count. */
export function identifiersIn({ task_id: taskId, session_id: sessionId }: JsonRecord): Identifiers {
  return {
    ...(typeof taskId === "string" ? { taskId } : {}),
    ...(typeof sessionId === "string" ? { sessionId } : {}),
  };
}

function isEnvelope(value: JsonRecord, method: string): boolean {
  // A proposal may have `parameters` of its own, for the proposed endpoint.   AGTP-API §10.4
  if (method === "PROPOSE" && (Object.hasOwn(value, "endpoint") || Object.hasOwn(value, "name"))) {
    return false;
  }
  // An action may, too.   AGTP "EXECUTE"
  if (method === "EXECUTE" && Object.hasOwn(value, "action")) return false;
  const named = value["method"];
  if (typeof named === "string" && named.toUpperCase() === method.toUpperCase()) return true;
  return Object.keys(value).every((key) => ENVELOPE_KEYS.has(key));
}

const MAX_QUERY_FIELDS = 1024;

/**
 * Parses a query string: percent-decoded, a plus stays a plus, and the last value of a repeated key
 * counts. Undefined for a malformed encoding, invalid UTF-8 or more than 1024 fields.
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

/** Adds a field; false if its encoding is malformed. */
function addField(fields: Map<string, string>, part: string): boolean {
  const equals = part.indexOf("=");
  const name = decodePart(equals === -1 ? part : part.slice(0, equals));
  const value = decodePart(equals === -1 ? "" : part.slice(equals + 1));
  if (name === undefined || value === undefined) return false;
  fields.set(name, value);
  return true;
}

/** Decodes path values once; returns the raw segment that cannot be decoded. */
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
 * Merges decoded path values, body and query. Texts from path and query are converted to their
 * declared types; one that does not fit stays a text for validation to report. The body's values
 * are never changed, and without path and query the body itself is the input. Undeclared query
 * fields get stand-ins if the body's do.
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
  const merge = (): JsonRecord => mergeAll(shape, fromBody, query, pathValues, undeclared);
  if (!hasQuery || pathValues !== undefined || undeclared === undefined) return merge();
  return undeclared.beside(fromBody, query.keys(), merge);
}

function mergeAll(
  shape: InputShape,
  body: JsonRecord,
  query: ReadonlyMap<string, string> | undefined,
  pathValues: Readonly<Record<string, string>> | undefined,
  undeclared: UndeclaredMembers | undefined,
): JsonRecord {
  const merged: Record<string, unknown> = {};
  if (query !== undefined) {
    for (const [name, text] of query) {
      setMember(merged, undeclared?.nameOf(name) ?? name, coerce(shape, name, text));
    }
  }
  for (const name of Object.keys(body)) setMember(merged, name, body[name]);
  if (pathValues !== undefined) {
    for (const name of Object.keys(pathValues)) {
      setMember(merged, name, coerce(shape, name, pathValues[name]!));
    }
  }
  return merged;
}

/** Converts a text of path or query to its declared type. */
export function coerce(shape: InputShape, name: string, text: string): unknown {
  const types = typesOf(shape, name);
  return types === undefined ? text : coerceText(text, types);
}

function typesOf(
  { scalars, patterned }: InputShape,
  name: string,
): readonly ScalarType[] | undefined {
  return scalars.get(name) ?? patterned?.(name);
}

const INTEGER = /^-?(?:0|[1-9]\d*)$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Converts a text to one of the declared types; one that fits none stays a text. */
export function coerceText(text: string, types: readonly ScalarType[]): unknown {
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  // An integer beyond 2^53 could become another one, while 6.02e23 claims no more digits.
  return isNumber(text, types) && !isLostNumber(text) ? Number(text) : text;
}

function isNumber(text: string, types: readonly ScalarType[]): boolean {
  if (types.includes("number")) return NUMBER.test(text);
  return types.includes("integer") && INTEGER.test(text);
}

const QUOTED_DIGITS = 40;

/**
 * Finds a number that the input does not hold as the body sent it; undefined if there is none. A
 * handler would act on a wrong number, such as the next order's.   RFC 7493 §2.2
 */
export function findLost(
  body: Uint8Array,
  input: JsonRecord,
): readonly SchemaViolation[] | undefined {
  const lost = findLostNumbers(body, input);
  if (lost === undefined) return undefined;
  let token = "";
  // Members of an envelope beside its parameters are not part of the input.
  const path = pathOf((value) => {
    const found = typeof value === "number" ? lost.get(value) : undefined;
    token = found ?? token;
    return found !== undefined;
  }, input);
  return lossAt(path, clip(token, QUOTED_DIGITS));
}

/**
 * Explains why a numeric text of path or query could not be converted, since the schema only
 * reports a string. Undefined if it has another fault.
 */
export function lostText(shape: InputShape, name: string, text: string): string | undefined {
  const types = typesOf(shape, name);
  if (types === undefined || !isNumber(text, types) || !isLostNumber(text)) return undefined;
  return `${clip(text, QUOTED_DIGITS)} cannot be kept to the digit, expected a number that can`;
}

/** Finds a number of an input that lost digits when an answer was parsed, or is not finite. */
export function findRounded(input: JsonRecord): readonly SchemaViolation[] | undefined {
  let loss: string | undefined;
  const path = pathOf((value) => {
    loss = typeof value === "number" ? lossOf(value) : undefined;
    return loss !== undefined;
  }, input);
  return lossAt(path, loss?.replace("is ", "") ?? "");
}

function lossAt(path: string | undefined, what: string): readonly SchemaViolation[] | undefined {
  if (path === undefined) return undefined;
  const message = `${what} cannot be kept to the digit: send it as a text, if the endpoint takes one`;
  return [{ path, keyword: "precision", message }];
}

/**
 * Returns the JSON Pointer of the first matching value; undefined if there is none. A handler's
 * input may be cyclic.
 */
function pathOf(
  isMeant: (value: unknown) => boolean,
  value: unknown,
  at = "",
  seen: Set<object> = new Set(),
): string | undefined {
  if (isMeant(value)) return at;
  if (typeof value !== "object" || value === null || seen.has(value)) return undefined;
  seen.add(value);
  for (const [name, member] of Object.entries(value)) {
    const found = pathOf(isMeant, member, `${at}/${escapeToken(name)}`, seen);
    if (found !== undefined) return found;
  }
  return undefined;
}
