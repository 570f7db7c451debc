/**
 * Finds a duplicate member in an object of a JSON text: parsers silently keep the last, although
 * the author meant both.   RFC 7493 §2.3
 */
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "./json-octets.ts";

/** Returns the name of the first duplicate member; the text was parsed and bounded before. */
export function findRepeatedMember(json: string): string | undefined {
  /** The names in each open object so far; undefined for an open array. */
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

/** Decodes a name, since escapes give one name many spellings. */
function readName(written: string): string {
  return written.includes("\\") ? String(JSON.parse(written)) : written.slice(1, -1);
}

/** Returns the offset after the closing quote of the string that opens at `start`. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json.charCodeAt(at) !== QUOTE) {
    at += json.charCodeAt(at) === BACKSLASH ? 2 : 1;
  }
  return at + 1;
}
