/**
 * Where two JSON values differ, by JSON Pointers to the innermost places, with what stands there on
 * either side: whoever has to mend a file must not have to search for it.
 */
import { isDeepStrictEqual } from "node:util";
import { escapeToken } from "../../../base/json-pointer.ts";
import { isRecord, quoteValue } from "../../../base/json-value.ts";

/** More than these nobody reads. */
const MOST = 8;

/** `/specs/input/type is "object" here and "string" there`; none: the values are equal. */
export function findDifferences(ours: unknown, theirs: unknown, pointer: string): string[] {
  const found: string[] = [];
  collect(ours, theirs, pointer, found);
  return found;
}

function collect(ours: unknown, theirs: unknown, pointer: string, found: string[]): void {
  if (found.length >= MOST || isDeepStrictEqual(ours, theirs)) return;
  if (isRecord(ours) && isRecord(theirs)) {
    const names = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
    for (const name of names) {
      const below = `${pointer}/${escapeToken(name)}`;
      collect(memberOf(ours, name), memberOf(theirs, name), below, found);
    }
    return;
  }
  if (Array.isArray(ours) && Array.isArray(theirs) && ours.length === theirs.length) {
    for (const [index, one] of ours.entries()) {
      collect(one, theirs[index], `${pointer}/${index}`, found);
    }
    return;
  }
  found.push(`${pointer} ${wordsFor(ours)} here and ${wordsFor(theirs)} there`);
}

function memberOf(record: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function wordsFor(value: unknown): string {
  return value === undefined ? "is absent" : `is ${quoteValue(value)}`;
}
