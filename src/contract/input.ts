/**
 * The input of an invocation: body, query and path values, read and merged into the one object that
 * the input schema judges. Path values win over the body, the body wins over the query. What is
 * missing or malformed is an answer in words; 400 and 422 are the gate's to give.
 * AGTP-API §5.3, §5.5, §6.4
 */
import { isAscii, isUtf8 } from "node:buffer";
import { isRecord } from "../catalog/json-values.ts";
import type { InputShape, ScalarType } from "./input-shape.ts";

export { type InputShape, inputShape } from "./input-shape.ts";

/** Parameters by name. */
export type InputObject = Readonly<Record<string, unknown>>;

/** A body as a JSON object, or why it is none. */
export type ParsedBody =
  | { readonly kind: "ok"; readonly value: InputObject }
  | { readonly kind: "invalid"; readonly message: string };

/** Deeper bodies would exhaust the stack of whoever walks them. */
const MAX_DEPTH = 64;

/** Reads a body: UTF-8, a JSON object, nested at most 64 levels deep. An empty body is `{}`. */
export function parseBody(bytes: Uint8Array): ParsedBody {
  if (bytes.length === 0) return { kind: "ok", value: {} };
  const text = decodeText(bytes);
  if (text === undefined) return invalid("the body is not UTF-8");
  if (isTooDeep(bytes)) return invalid(`the body is nested deeper than ${MAX_DEPTH} levels`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return invalid("the body is not JSON");
  }
  if (isRecord(value)) return { kind: "ok", value };
  const found = Array.isArray(value) ? "an array" : value === null ? "null" : `a ${typeof value}`;
  return invalid(`the body is ${found}, expected a JSON object`);
}

/** ASCII, which most bodies are, decodes several times faster than other UTF-8. */
function decodeText(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (isAscii(buffer)) return buffer.toString("latin1");
  return isUtf8(buffer) ? buffer.toString("utf8") : undefined;
}

function invalid(message: string): ParsedBody {
  return { kind: "invalid", message };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** One pass over the bytes; what is no JSON may be misjudged, and the parser refuses it anyway. */
function isTooDeep(bytes: Uint8Array): boolean {
  if (bytes.length <= 2 * MAX_DEPTH) return false;
  let depth = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === QUOTE) {
      index += 1;
      while (index < bytes.length && bytes[index] !== QUOTE) {
        index += bytes[index] === BACKSLASH ? 2 : 1;
      }
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1;
  }
  return false;
}

/** A body without its envelope. */
export interface Unwrapped {
  readonly parameters: InputObject;
  readonly taskId?: string;
  readonly sessionId?: string;
  readonly context?: InputObject;
}

const ENVELOPE_KEYS: ReadonlySet<string> = new Set([
  "method",
  "task_id",
  "session_id",
  "parameters",
  "context",
]);

/**
 * Takes a body out of its envelope, if it is in one: `parameters` is an object, and the body names
 * the method of the request line or holds nothing that an envelope would not. The method of the
 * request line is authoritative, whatever the body says.   AGTP "Request Body"
 */
export function unwrapEnvelope(value: InputObject, method: string): Unwrapped {
  const { parameters, task_id: taskId, session_id: sessionId, context } = value;
  if (!isRecord(parameters) || !isEnvelope(value, method)) return { parameters: value };
  return {
    parameters,
    ...(typeof taskId === "string" ? { taskId } : {}),
    ...(typeof sessionId === "string" ? { sessionId } : {}),
    ...(isRecord(context) ? { context } : {}),
  };
}

function isEnvelope(value: InputObject, method: string): boolean {
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
  const parts = query.split("&", MAX_QUERY_FIELDS + 1);
  if (parts.length > MAX_QUERY_FIELDS) return undefined;
  for (const part of parts) {
    if (part === "") continue;
    const equals = part.indexOf("=");
    const name = decode(equals === -1 ? part : part.slice(0, equals));
    const value = decode(equals === -1 ? "" : part.slice(equals + 1));
    if (name === undefined || value === undefined) return undefined;
    fields.set(name, value);
  }
  return fields;
}

function decode(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * Merges decoded path values, body and query. Texts from the path and the query become what their
 * schema declares; a text that does not fit stays one, and validation reports it. The body's own
 * values are never changed, and without path and query the body itself is the input.
 */
export function mergeInput(
  shape: InputShape,
  body: InputObject | undefined,
  query: ReadonlyMap<string, string> | undefined,
  pathValues: Readonly<Record<string, string>> | undefined,
): InputObject {
  const fromBody = body ?? {};
  const hasQuery = query !== undefined && query.size > 0;
  if (!hasQuery && pathValues === undefined) return fromBody;
  // Spreading and fromEntries define members: one named __proto__ stays a member, to be refused.
  return {
    ...(hasQuery ? coerceAll(shape, query) : undefined),
    ...fromBody,
    ...(pathValues === undefined ? undefined : coerceAll(shape, Object.entries(pathValues))),
  };
}

function coerceAll(shape: InputShape, texts: Iterable<readonly [string, string]>): InputObject {
  return Object.fromEntries(
    Array.from(texts, ([name, text]) => {
      const types = shape.scalars.get(name);
      return [name, types === undefined ? text : coerce(text, types)];
    }),
  );
}

const INTEGER = /^-?(?:0|[1-9]\d*)$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function coerce(text: string, types: readonly ScalarType[]): unknown {
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  const isNumber = types.includes("number") ? NUMBER.test(text) : INTEGER.test(text);
  if (!isNumber || !(types.includes("number") || types.includes("integer"))) return text;
  const number = Number(text);
  // An integer beyond 2^53 would silently become another one.
  const isExact = Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
  return isExact ? number : text;
}
