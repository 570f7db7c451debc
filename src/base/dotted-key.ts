/** Dotted keys, as problems name places in a file: `agntcy[0].base`; and tokens of JSON Pointers.   RFC 6901 §3, §4 */
import { quoteValue } from "./json-value.ts";

/** A member's name as a token. */
export function escapeToken(name: string): string {
  return /[~/]/.test(name) ? name.replaceAll("~", "~0").replaceAll("/", "~1") : name;
}

/** The name that a token stands for. */
export function unescapeToken(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** A longer name is quoted, because quoting also shortens it: a hostile one may have megabytes. */
const BARE_KEY = /^[A-Za-z0-9_-]{1,64}$/;

/** The key of a member; a name that TOML would need quotes for gets them. */
export function joinKey(parent: string, name: string): string {
  const written = BARE_KEY.test(name) ? name : quoteValue(name);
  return parent === "" ? written : `${parent}.${written}`;
}

/** The key of an item of an array. */
export function joinIndex(parent: string, index: number): string {
  return `${parent}[${index}]`;
}

/** The key that a JSON Pointer names; `root` tells items of arrays from members. */
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

/** The value that a JSON Pointer names, undefined when there is none. */
export function atPointer(pointer: string, root: unknown): unknown {
  const names = pointer.split("/").slice(1).map(unescapeToken);
  return names.reduce<unknown>((value, name) => memberAt(value, name), root);
}

/** A member of its own, of whatever may have one. */
export function memberAt(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
