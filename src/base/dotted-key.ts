/**
 * Dotted keys, which name places in files for problems, such as `agntcy[0].base`; and tokens of
 * JSON Pointers.   RFC 6901 §3, §4
 */
import { quoteValue } from "./json-value.ts";

/** Escapes a member's name as a token. */
export function escapeToken(name: string): string {
  return /[~/]/.test(name) ? name.replaceAll("~", "~0").replaceAll("/", "~1") : name;
}

/** Unescapes a token to a name. */
export function unescapeToken(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Longer names are quoted, which also shortens them: a hostile one may have megabytes. */
const BARE_KEY = /^[A-Za-z0-9_-]{1,64}$/;

/** Appends a member to a key, quoted if TOML would require quotes. */
export function joinKey(parent: string, name: string): string {
  const written = BARE_KEY.test(name) ? name : quoteValue(name);
  return parent === "" ? written : `${parent}.${written}`;
}

/** Appends an array index to a key. */
export function joinIndex(parent: string, index: number): string {
  return `${parent}[${index}]`;
}

/** Converts a JSON Pointer to a key; `root` tells array indexes from member names. */
export function fromPointer(pointer: string, root: unknown): string {
  let key = "";
  let value = root;
  for (const token of pointer.split("/").slice(1)) {
    const name = unescapeToken(token);
    key = Array.isArray(value) ? joinIndex(key, Number(name)) : joinKey(key, name);
    value = memberAt(value, name);
  }
  return key;
}

/** Returns the value at a JSON Pointer; undefined if there is none. */
export function atPointer(pointer: string, root: unknown): unknown {
  const names = pointer.split("/").slice(1).map(unescapeToken);
  return names.reduce<unknown>((value, name) => memberAt(value, name), root);
}

/** Returns an own member of a value; undefined if it has none. */
export function memberAt(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
