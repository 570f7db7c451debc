/**
 * What a transcript expects of a response. Decides whether a response is the expected one, and says
 * every way in which it is not. Every header field must be listed, in any order; the status text
 * informs and is not compared; a JSON body is compared by structure.
 *
 * Placeholders: `{any}` any text, and as a whole JSON string any value; `{uuid}` a UUIDv7; `{date}` an
 * RFC 3339 time; `{hex}` lower-case hex digits. A last array element `"{more}"`, or a member of that
 * name, stands for whatever else there is.
 */
import { isRecord, type JsonRecord } from "../json-value.ts";
import type { HeaderFields } from "../wire/message.ts";

/** A text with placeholders, compiled. */
export interface Pattern {
  readonly source: string;
  matches(text: string): boolean;
}

/** A response as a transcript writes it. */
export interface ExpectedResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: Pattern])[];
  readonly body: ExpectedBody;
}

/** Compared by structure when it is JSON, else as a text. */
export type ExpectedBody =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "text"; readonly pattern: Pattern };

/** A response as it was received. */
export interface ActualResponse {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly body: string;
}

/** How strict the comparison is. */
export interface MatchOptions {
  /** "ignore": other servers may send header fields that a transcript does not list. */
  readonly unlistedHeaders: "refuse" | "ignore";
}

const PLACEHOLDERS: ReadonlyMap<string, string> = new Map([
  ["{any}", "[^]*"],
  ["{hex}", "[0-9a-f]+"],
  ["{uuid}", "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"],
  ["{date}", "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?(?:Z|[+-]\\d\\d:\\d\\d)"],
]);
const MORE = "{more}";
const STATUS_LINE = /^AGTP\/1\.0 (\d{3})(?: .*)?$/;
const FIELD = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(.*)$/;

/** Reads the lines of an expected response. */
export function parseExpectedResponse(lines: readonly string[]): {
  readonly response?: ExpectedResponse;
  readonly fault?: string;
} {
  const blank = lines.indexOf("");
  const [statusLine = "", ...fields] = blank === -1 ? lines : lines.slice(0, blank);
  const status = STATUS_LINE.exec(statusLine)?.[1];
  if (status === undefined) return { fault: `"${statusLine}" is no status line` };
  const headers: (readonly [string, Pattern])[] = [];
  for (const field of fields) {
    const match = FIELD.exec(field);
    if (match === null) return { fault: `"${field}" is no header field` };
    headers.push([(match[1] ?? "").toLowerCase(), compilePattern(match[2] ?? "")]);
  }
  const text = blank === -1 ? "" : lines.slice(blank + 1).join("\n");
  return { response: { status: Number(status), headers, body: parseBody(text) } };
}

function parseBody(text: string): ExpectedBody {
  try {
    return { kind: "json", value: JSON.parse(text) };
  } catch {
    return { kind: "text", pattern: compilePattern(text) };
  }
}

function compilePattern(source: string): Pattern {
  const parts = source.split(/(\{(?:any|hex|uuid|date)\})/);
  const expression = parts.map((part) => PLACEHOLDERS.get(part) ?? escapeText(part)).join("");
  const compiled = new RegExp(`^${expression}$`);
  return { source, matches: (text) => compiled.test(text) };
}

function escapeText(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

/** Says something of the connection, on its first response; looked at where it is expected. */
const OF_CONNECTION = "supported-methods";

/** Every way in which a response is not the expected one. */
export function matchResponse(
  expected: ExpectedResponse,
  actual: ActualResponse,
  { unlistedHeaders }: MatchOptions = { unlistedHeaders: "refuse" },
): readonly string[] {
  const mismatches: string[] = [];
  if (expected.status !== actual.status) {
    mismatches.push(`status: expected ${expected.status}, got ${actual.status}`);
  }
  for (const [name, pattern] of expected.headers) {
    const value = actual.headers.get(name);
    if (value === undefined) mismatches.push(`header ${name}: missing`);
    else if (!pattern.matches(value)) {
      mismatches.push(`header ${name}: expected ${pattern.source}, got ${value}`);
    }
  }
  const listed = new Set([OF_CONNECTION, ...expected.headers.map(([name]) => name)]);
  for (const [name, value] of unlistedHeaders === "refuse" ? actual.headers : []) {
    if (!listed.has(name)) mismatches.push(`header ${name}: not expected, got ${value}`);
  }
  return [...mismatches, ...matchBody(expected.body, actual.body)];
}

function matchBody(expected: ExpectedBody, actual: string): readonly string[] {
  if (expected.kind === "text") {
    const { pattern } = expected;
    return pattern.matches(actual) ? [] : [`body: expected "${pattern.source}", got ${actual}`];
  }
  try {
    return matchValue(expected.value, JSON.parse(actual), "body");
  } catch {
    return [`body: expected JSON, got "${actual}"`];
  }
}

function matchValue(expected: unknown, actual: unknown, at: string): readonly string[] {
  if (expected === "{any}") return [];
  if (typeof expected === "string" && typeof actual === "string") {
    return compilePattern(expected).matches(actual) ? [] : [differs(expected, actual, at)];
  }
  if (Array.isArray(expected)) {
    return Array.isArray(actual)
      ? matchArray(expected, actual, at)
      : [differs(expected, actual, at)];
  }
  if (isRecord(expected) && isRecord(actual)) return matchObject(expected, actual, at);
  return expected === actual ? [] : [differs(expected, actual, at)];
}

function matchArray(
  expected: readonly unknown[],
  actual: readonly unknown[],
  at: string,
): readonly string[] {
  const isOpen = expected.at(-1) === MORE;
  const items = isOpen ? expected.slice(0, -1) : expected;
  if (actual.length < items.length || (!isOpen && actual.length > items.length)) {
    return [`${at}: expected ${items.length} elements, got ${actual.length}`];
  }
  return items.flatMap((item, index) => matchValue(item, actual[index], `${at}/${index}`));
}

function matchObject(expected: JsonRecord, actual: JsonRecord, at: string): readonly string[] {
  const names = Object.keys(expected).filter((name) => name !== MORE);
  const unlisted = Object.hasOwn(expected, MORE)
    ? []
    : Object.keys(actual).filter((name) => !Object.hasOwn(expected, name));
  return [
    ...names.flatMap((name) =>
      Object.hasOwn(actual, name)
        ? matchValue(expected[name], actual[name], `${at}/${name}`)
        : [`${at}/${name}: missing`],
    ),
    ...unlisted.map((name) => `${at}/${name}: not expected`),
  ];
}

function differs(expected: unknown, actual: unknown, at: string): string {
  return `${at}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
}
