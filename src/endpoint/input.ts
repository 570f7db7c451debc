/**
 * The input of an invocation: the body's JSON object, out of the envelope that some clients put their
 * parameters in, merged with query and path values into the one object that the input schema judges. Path
 * values win over the body, the body wins over the query. What is malformed is undefined, or an answer in
 * words; 400 and 422 are the gate's to give.   AGTP "Request Body", AGTP-API §5.3, §5.5, §6.4
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

/** How to read a body that is not read as any other. */
interface BodyReading {
  /** Members whose reader refuses by itself what is too deep: they keep as much as shows that. */
  readonly deepMembers?: ReadonlySet<string> | undefined;
  /** Its sender has sent what is no JSON, which is said without a throw. */
  readonly isDoubtful?: boolean;
  /** The body as text, where it is ASCII and short. */
  readonly text?: string | undefined;
  /** Gives members stand-ins for names that nobody declared. */
  readonly undeclared?: UndeclaredMembers | undefined;
}

/** A body as a JSON object, or why it is none. */
type ParsedBody =
  | { readonly kind: "ok"; readonly value: JsonRecord }
  | { readonly kind: "invalid"; readonly message: string };

/** The task and the session that a body names. */
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

/** A body is cut off where it is too deep wherever its envelope puts it. */
const BOUNDS: JsonBounds = { ...REQUEST_BOUNDS, cutDepth: REQUEST_BOUNDS.depth + 16 };

/**
 * Reads a body: UTF-8, a JSON object, nested at most 64 levels deep, with at most 10,000 members and
 * 50,000 values in all. An empty body is `{}`.
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

/** Undefined is what is no JSON. */
function parsed(value: unknown): ParsedBody {
  if (isRecord(value)) return { kind: "ok", value };
  if (value === undefined) return invalid(NO_JSON);
  const found = Array.isArray(value) ? "an array" : value === null ? "null" : `a ${typeof value}`;
  return invalid(`the body is ${found}, expected a JSON object`);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** ASCII, which most bodies are, decodes several times faster than other UTF-8. */
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

/** The bytes without what is in the brackets of the last level: parsing half a million takes a second. */
function cutDeep(bytes: Uint8Array, cuts: readonly number[]): Uint8Array {
  const kept: Uint8Array[] = [];
  let from = 0;
  // A bracket that is never closed keeps what is in it.
  for (let at = 1; at < cuts.length; at += 2) {
    kept.push(bytes.subarray(from, cuts[at - 1]));
    from = cuts[at] ?? from;
  }
  return Buffer.concat([...kept, bytes.subarray(from)]);
}

/**
 * Takes a body out of its envelope, if it is in one: `parameters` is an object, and the body names
 * the method of the request line or holds nothing that an envelope would not. The method of the
 * request line is authoritative, whatever the body says.   AGTP "Request Body"
 */
export function unwrapEnvelope(value: JsonRecord, method: string): Unwrapped {
  const { parameters } = value;
  if (!isRecord(parameters) || !isEnvelope(value, method)) return { parameters: value };
  return { parameters, ...identifiersIn(value) };
}

/** The identifiers among the members of an object; what is no text is none. */
export function identifiersIn({ task_id: taskId, session_id: sessionId }: JsonRecord): Identifiers {
  return {
    ...(typeof taskId === "string" ? { taskId } : {}),
    ...(typeof sessionId === "string" ? { sessionId } : {}),
  };
}

function isEnvelope(value: JsonRecord, method: string): boolean {
  // A proposal may have `parameters` of its own: those of what it proposes.   AGTP-API §10.4
  if (method === "PROPOSE" && (Object.hasOwn(value, "endpoint") || Object.hasOwn(value, "name"))) {
    return false;
  }
  // So has an action.   AGTP "EXECUTE"
  if (method === "EXECUTE" && Object.hasOwn(value, "action")) return false;
  const named = value["method"];
  if (typeof named === "string" && named.toUpperCase() === method.toUpperCase()) return true;
  return Object.keys(value).every((key) => ENVELOPE_KEYS.has(key));
}

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

/** The value that a text of the path or the query becomes. */
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

/** Coerces a text to one of the declared types; one that fits none stays a text. */
export function coerceText(text: string, types: readonly ScalarType[]): unknown {
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  // An integer beyond 2^53 may silently become another one; 6.02e23 is no more than it says.
  return isNumber(text, types) && !isLostNumber(text) ? Number(text) : text;
}

function isNumber(text: string, types: readonly ScalarType[]): boolean {
  if (types.includes("number")) return NUMBER.test(text);
  return types.includes("integer") && INTEGER.test(text);
}

const QUOTED_DIGITS = 40;

/**
 * Finds a number of a body that the input does not have as it was sent; undefined: it has all of them. A handler
 * would act on another one, such as the order of the next number, or on none.   RFC 7493 §2.2
 */
export function findLost(
  body: Uint8Array,
  input: JsonRecord,
): readonly SchemaViolation[] | undefined {
  const lost = findLostNumbers(body, input);
  if (lost === undefined) return undefined;
  let token = "";
  // An envelope's members beside its parameters are nobody's input.
  const path = pathOf((value) => {
    const found = typeof value === "number" ? lost.get(value) : undefined;
    token = found ?? token;
    return found !== undefined;
  }, input);
  return lossAt(path, clip(token, QUOTED_DIGITS));
}

/**
 * Says of the text of a number, from the path or the query, why it could not become that number: of the text its
 * schema says only that it is one. Undefined: it has another fault.
 */
export function lostText(shape: InputShape, name: string, text: string): string | undefined {
  const types = typesOf(shape, name);
  if (types === undefined || !isNumber(text, types) || !isLostNumber(text)) return undefined;
  return `${clip(text, QUOTED_DIGITS)} cannot be kept to the digit, expected a number that can`;
}

/** Finds a number of an input that is not as it was written, in an answer that it was taken from, or is none. */
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

/** The JSON Pointer of the first value of its kind; undefined: there is none. A handler's input may refer to itself. */
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
