/**
 * Patterns for JSON values in transcripts. Matches a value, and reports each place that differs.
 *
 * Strings are texts with placeholders; a string that is one placeholder alone may stand for any type
 * of value, see `value-kinds.ts`. Members are all named, unless `"{more}"` stands for the others; a
 * name that ends in `?` may be missing, and `"{absent}": [names]` may not be there. An array lists
 * its elements, with `"{more}"` in last place for whatever follows; `["{every}", P]` is of any length,
 * each element a P; `["{some}", P, Q]` has a P and a Q among its elements; `["{none}", P]` has no P.
 * `{"{all}": [P, Q]}` is both, `{"{either}": [P, Q]}` one of the two.
 */
import { isDeepStrictEqual } from "node:util";
import { clip, isRecord, type JsonRecord } from "../../base/json-value.ts";
import { type Bindings, matchText } from "./text-pattern.ts";
import { checkKind, kindOf } from "./value-kinds.ts";

/** The differences between a value and the expected one; empty if it matches. */
export type Mismatches = readonly string[];

const MORE = "{more}";
const WHOLE_VARIABLE = /^\{\{([a-z][a-z0-9_.]*)\}\}$/;
const MAX_SHOWN = 300;

/** The path of a value, such as `body/rooms/0`, and the bindings. */
interface Place {
  readonly at: string;
  readonly bindings: Bindings;
}

/** Compares a value with the expectation for its place. */
export function matchValue(expected: unknown, actual: unknown, place: Place): Mismatches {
  if (typeof expected === "string") return matchString(expected, actual, place);
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return differs(expected, actual, place);
    return matchArray(expected, actual, place);
  }
  if (isRecord(expected)) return matchRecord(expected, actual, place);
  return expected === actual ? [] : differs(expected, actual, place);
}

function matchString(expected: string, actual: unknown, place: Place): Mismatches {
  const kind = kindOf(expected);
  if (kind !== undefined) {
    const fault = checkKind(kind, actual, place.bindings);
    return fault === undefined ? [] : [`${place.at}: ${fault}, got ${show(actual)}`];
  }
  const name = WHOLE_VARIABLE.exec(expected)?.[1];
  const value = name === undefined ? undefined : place.bindings.get(name);
  if (value !== undefined && typeof value !== "string") {
    return isDeepStrictEqual(value, actual) ? [] : differs(value, actual, place);
  }
  if (typeof actual === "string" && matchText(expected, actual, place.bindings)) return [];
  return differs(name === undefined ? expected : (value ?? expected), actual, place);
}

function matchArray(
  [first, ...rest]: readonly unknown[],
  actual: readonly unknown[],
  place: Place,
): Mismatches {
  const isMatch = (pattern: unknown, item: unknown): boolean =>
    matchValue(pattern, item, place).length === 0;
  switch (first) {
    case "{every}":
      return actual.flatMap((item, index) =>
        rest.flatMap((pattern) => matchValue(pattern, item, below(place, index))),
      );
    case "{some}":
      return rest
        .filter((pattern) => !actual.some((item) => isMatch(pattern, item)))
        .map((pattern) => `${place.at}: expected an element ${show(pattern)}`);
    case "{none}":
      return actual.flatMap((item, index) =>
        rest
          .filter((pattern) => isMatch(pattern, item))
          .map((pattern) => `${place.at}/${index}: expected no element ${show(pattern)}`),
      );
    default:
      return matchElements(first === undefined ? [] : [first, ...rest], actual, place);
  }
}

function matchElements(
  expected: readonly unknown[],
  actual: readonly unknown[],
  place: Place,
): Mismatches {
  const isOpen = expected.at(-1) === MORE;
  const items = isOpen ? expected.slice(0, -1) : expected;
  if (actual.length < items.length || (!isOpen && actual.length > items.length)) {
    return [`${place.at}: expected ${items.length} elements, got ${actual.length}`];
  }
  return items.flatMap((item, index) => matchValue(item, actual[index], below(place, index)));
}

function matchRecord(expected: JsonRecord, actual: unknown, place: Place): Mismatches {
  const { "{all}": all, "{either}": either } = expected;
  if (Array.isArray(all)) {
    return all.flatMap((pattern) => matchValue(pattern, actual, place));
  }
  if (Array.isArray(either)) {
    const tried = either.map((pattern) => matchValue(pattern, actual, place));
    return tried.some((mismatches) => mismatches.length === 0) ? [] : shortest(tried);
  }
  if (!isRecord(actual)) return differs(expected, actual, place);
  return matchMembers(expected, actual, place);
}

function matchMembers(
  { "{absent}": absent, ...expected }: JsonRecord,
  actual: JsonRecord,
  place: Place,
): Mismatches {
  const isOpen = Object.hasOwn(expected, MORE) || absent !== undefined;
  const listed = new Set<string>();
  const mismatches: string[] = [];
  for (const [key, pattern] of Object.entries(expected)) {
    if (key === MORE) continue;
    const isOptional = key.endsWith("?");
    const name = isOptional ? key.slice(0, -1) : key;
    listed.add(name);
    if (Object.hasOwn(actual, name)) {
      mismatches.push(...matchValue(pattern, actual[name], below(place, name)));
    } else if (!isOptional) mismatches.push(`${place.at}/${name}: missing`);
  }
  const unwanted = isOpen
    ? (Array.isArray(absent) ? absent : []).filter((name) => Object.hasOwn(actual, name))
    : Object.keys(actual).filter((name) => !listed.has(name));
  return [...mismatches, ...unwanted.map((name) => `${place.at}/${name}: not expected`)];
}

function below({ at, bindings }: Place, name: string | number): Place {
  return { at: `${at}/${name}`, bindings };
}

/** The shortest list of mismatches, that of the closest alternative. */
export function shortest(tried: readonly Mismatches[]): Mismatches {
  return tried.reduce((best, next) => (next.length < best.length ? next : best), tried[0] ?? []);
}

function differs(expected: unknown, actual: unknown, { at }: Place): Mismatches {
  return [`${at}: expected ${show(expected)}, got ${show(actual)}`];
}

/** Formats a value for a mismatch, shortened: a server may send more than is readable. */
export function show(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return clip(text, MAX_SHOWN);
}
