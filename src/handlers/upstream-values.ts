/**
 * Values of an input as text for a query, a form or a header: lists and objects in the style that
 * the upstream reads.   AGTP-API §12.3
 */
import type { ValueStyle } from "../endpoint/upstream-format.ts";

const SEPARATORS: Readonly<Record<Exclude<ValueStyle, "deep">, string>> = {
  comma: ",",
  space: " ",
  pipe: "|",
};

/** Appends a value under a name; null says nothing, and without a style a list repeats the name. */
export function appendValue(
  target: URLSearchParams,
  name: string,
  value: unknown,
  style?: ValueStyle,
): void {
  if (style === "deep") {
    appendDeep(target, name, value);
    return;
  }
  if (style !== undefined && typeof value === "object" && value !== null) {
    target.append(name, joinValues(value, SEPARATORS[style]));
    return;
  }
  for (const item of Array.isArray(value) ? value : [value]) {
    if (item !== undefined && item !== null) target.append(name, textOf(item));
  }
}

/** The text of one value. */
export function textOf(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A list or an object on one line: `a,b`, or `key,value,key,value`. */
export function joinValues(value: object, separator: string): string {
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.entries(value).flat();
  return parts
    .filter((part) => part !== null)
    .map(textOf)
    .join(separator);
}

/** `name[key][0]=…`; an input is nested 64 levels at most. */
function appendDeep(target: URLSearchParams, name: string, value: unknown): void {
  if (typeof value !== "object" || value === null) {
    if (value !== undefined && value !== null) target.append(name, String(value));
    return;
  }
  for (const [key, member] of Object.entries(value)) appendDeep(target, `${name}[${key}]`, member);
}

/** Renames the top-level keys of an object, which is a new one; a renamed value wins over one that had the name already.   AGTP-API §12.3 */
export function renameKeys(
  record: Readonly<Record<string, unknown>>,
  names: ReadonlyMap<string, string>,
): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  const renamed: [string, unknown][] = [];
  for (const [key, value] of Object.entries(record)) {
    const name = names.get(key);
    if (name === undefined) kept.push([key, value]);
    else renamed.push([name, value]);
  }
  // fromEntries defines properties, so a key "__proto__" is a key like any other.
  return Object.fromEntries([...kept, ...renamed]);
}
