/**
 * JSON that others wrote: parsed, bounded in depth so that nothing later has to fear recursion,
 * free of what has no canonical form and of the one member name that reaches an object's prototype,
 * and frozen all the way down.   RFC 8785 §3.1, RFC 7493
 */
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "../base/json-octets.ts";
import { hasLoneSurrogate, quoteValue } from "../base/json-value.ts";
import { reasonOf } from "../base/thrown.ts";

/** The value, or why the text has none. */
export type JsonDocument =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly fault: string };

const MAX_DEPTH = 32;

/** Parses a text; the caller has bounded its length. */
export function parseBoundedJson(text: string): JsonDocument {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `must be JSON: ${reasonOf(error)}` };
  }
  const fault = freezeBounded(value, MAX_DEPTH);
  if (fault !== undefined) return { fault };
  const repeated = findRepeatedMember(text);
  if (repeated === undefined) return { value };
  return { fault: `must not have the member ${quoteValue(repeated)} twice in one object` };
}

function freezeBounded(value: unknown, depth: number): string | undefined {
  if (typeof value !== "object" || value === null) return findScalarFault(value);
  if (depth === 0) return `must not be nested deeper than ${MAX_DEPTH} levels`;
  if (Array.isArray(value)) return freezeList(value, depth);
  for (const [key, member] of Object.entries(value)) {
    if (key === "__proto__") return 'must have no member "__proto__"';
    const fault = findScalarFault(key) ?? freezeBounded(member, depth - 1);
    if (fault !== undefined) return fault;
  }
  Object.freeze(value);
  return undefined;
}

/** Items have no names to be looked at, which took as long as all else. */
function freezeList(items: readonly unknown[], depth: number): string | undefined {
  for (const item of items) {
    const fault = freezeBounded(item, depth - 1);
    if (fault !== undefined) return fault;
  }
  Object.freeze(items);
  return undefined;
}

function findScalarFault(value: unknown): string | undefined {
  if (typeof value === "number" && !Number.isFinite(value)) {
    return "must have no number beyond the range of double precision";
  }
  if (typeof value === "string" && hasLoneSurrogate(value)) {
    return "must have no text with half of a surrogate pair";
  }
  return undefined;
}

/** The name of the first repeated member; the text has been parsed and bounded before. */
export function findRepeatedMember(json: string): string | undefined {
  /** The names of each open object so far; undefined for an open array. */
  const open: (Set<string> | undefined)[] = [];
  let start = 0;
  let end = 0;
  for (let at = 0; at < json.length; at += 1) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        start = at;
        end = endOfString(json, at);
        at = end - 1;
        break;
      case COLON: {
        const name = readName(json.slice(start, end));
        const names = open.at(-1);
        if (names?.has(name)) return name;
        names?.add(name);
        break;
      }
      case OPEN_BRACE:
        open.push(new Set());
        break;
      case OPEN_BRACKET:
        open.push(undefined);
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        open.pop();
        break;
    }
  }
  return undefined;
}

/** Escapes make one name out of many spellings. */
function readName(written: string): string {
  return written.includes("\\") ? String(JSON.parse(written)) : written.slice(1, -1);
}

/** Behind the closing quote of the string that opens at `start`. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json.charCodeAt(at) !== QUOTE) {
    at += json.charCodeAt(at) === BACKSLASH ? 2 : 1;
  }
  return at + 1;
}
