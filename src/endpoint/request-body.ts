/**
 * The body of a request: bytes to a JSON object, and out of the envelope that some clients put their
 * parameters in. What is malformed is an answer in words; 400 is the gate's to give.
 * AGTP "Request Body", AGTP-API §6.4
 */
import { isAscii, isUtf8 } from "node:buffer";
import { mayBeJson } from "../base/json-octets.ts";
import { isRecord, type JsonRecord, parseJson } from "../base/json-value.ts";
import { isTooDeep, MAX_DEPTH } from "../base/nesting.ts";
import type { BodyEncoding, UndeclaredMembers } from "./undeclared-members.ts";

/** How to read a body that is not read as any other. */
export interface BodyReading {
  /** Members whose reader refuses by itself what is too deep: they keep as much as shows that. */
  readonly deepMembers?: ReadonlySet<string> | undefined;
  /** Its sender has sent what is no JSON, which is said without a throw. */
  readonly isDoubtful?: boolean;
  /** Gives members stand-ins for names that nobody declared. */
  readonly undeclared?: UndeclaredMembers | undefined;
}

/** A body as a JSON object, or why it is none. */
export type ParsedBody =
  | { readonly kind: "ok"; readonly value: JsonRecord }
  | { readonly kind: "invalid"; readonly message: string };

/** A body without its envelope. */
export interface Unwrapped {
  readonly parameters: JsonRecord;
  readonly taskId?: string;
  readonly sessionId?: string;
  readonly context?: JsonRecord;
}

/** The message about a body that cannot be parsed. */
export const NO_JSON = "the body is not JSON";

/** Of all objects together: what is made of each costs some microseconds. */
const MAX_MEMBERS = 10_000;
/** Members and items together; most items are numbers or short texts, and cost less. */
const MAX_VALUES = 50_000;

/** The bound that a body exceeds. */
type Excess = "depth" | "members" | "values";

/** The depth at which a body is cut off: too deep wherever its envelope puts it. */
const CUT_DEPTH = MAX_DEPTH + 16;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;

const ENVELOPE_KEYS: ReadonlySet<string> = new Set([
  "method",
  "task_id",
  "session_id",
  "parameters",
  "context",
]);

/**
 * Reads a body: UTF-8, a JSON object, nested at most 64 levels deep, with at most 10,000 members and
 * 50,000 values in all. An empty body is `{}`.
 */
export function parseBody(
  bytes: Uint8Array,
  { deepMembers, undeclared, isDoubtful = false }: BodyReading = {},
): ParsedBody {
  if (bytes.length === 0) return { kind: "ok", value: {} };
  const { excess, cuts } = scan(bytes);
  const isDeep = excess === "depth";
  if (excess !== undefined && !isDeep) return tooMany(excess);
  if (isDeep && deepMembers === undefined) return tooDeep();
  const buffer = asBuffer(isDeep ? cutDeep(bytes, cuts) : bytes);
  const encoding = encodingOf(buffer);
  if (encoding === undefined) return invalid("the body is not UTF-8");
  if (isDoubtful && !isDeep && !mayBeJson(bytes, MAX_DEPTH)) return invalid(NO_JSON);
  const value =
    isDeep || undeclared === undefined
      ? parseJson(buffer.toString(encoding))
      : undeclared.parse(buffer, encoding);
  if (value === undefined) return invalid(NO_JSON);
  if (isDeep && isTooDeep(value, MAX_DEPTH, deepMembers)) return tooDeep();
  if (isRecord(value)) return { kind: "ok", value };
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

function tooDeep(): ParsedBody {
  return invalid(`the body is nested deeper than ${MAX_DEPTH} levels`);
}

function tooMany(excess: "members" | "values"): ParsedBody {
  const most = excess === "members" ? MAX_MEMBERS : MAX_VALUES;
  return invalid(`the body has more than ${most} ${excess}`);
}

/** The brackets of a body. */
interface Nesting {
  readonly excess: Excess | undefined;
  /** By turns where the inside of a bracket of the last level begins, and where it ends. */
  readonly cuts: readonly number[];
}

const SHALLOW: Nesting = { excess: undefined, cuts: [] };

/**
 * Finds the bound that a body is beyond before anything is made of it. One pass over the
 * bytes; what is no JSON may be misjudged, and the parser refuses it anyway.
 */
function scan(bytes: Uint8Array): Nesting {
  if (bytes.length <= 2 * MAX_DEPTH) return SHALLOW;
  const cuts: number[] = [];
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let values = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === QUOTE) index = endOfText(bytes, index);
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
      if (depth > deepest) deepest = depth;
      // Anything deeper is refused or cut off before it is parsed.
      if (depth <= CUT_DEPTH) values += 1;
      if (depth === CUT_DEPTH) cuts.push(index + 1);
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === CUT_DEPTH) cuts.push(index);
      depth -= 1;
    } else if (byte === COLON && depth <= CUT_DEPTH) members += 1;
    else if (byte === COMMA && depth <= CUT_DEPTH) values += 1;
    else continue;
    if (members > MAX_MEMBERS) return { excess: "members", cuts };
    if (values > MAX_VALUES) return { excess: "values", cuts };
  }
  return { excess: deepest > MAX_DEPTH ? "depth" : undefined, cuts };
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

/** The index at which a text ends that starts at another. */
function endOfText(bytes: Uint8Array, start: number): number {
  let index = start + 1;
  while (index < bytes.length && bytes[index] !== QUOTE)
    index += bytes[index] === BACKSLASH ? 2 : 1;
  return index;
}

/**
 * Takes a body out of its envelope, if it is in one: `parameters` is an object, and the body names
 * the method of the request line or holds nothing that an envelope would not. The method of the
 * request line is authoritative, whatever the body says.   AGTP "Request Body"
 */
export function unwrapEnvelope(value: JsonRecord, method: string): Unwrapped {
  const { parameters, task_id: taskId, session_id: sessionId, context } = value;
  if (!isRecord(parameters) || !isEnvelope(value, method)) return { parameters: value };
  return {
    parameters,
    ...(typeof taskId === "string" ? { taskId } : {}),
    ...(typeof sessionId === "string" ? { sessionId } : {}),
    ...(isRecord(context) ? { context } : {}),
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
