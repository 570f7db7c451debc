/**
 * A transcript's pattern for a response. Matches a response, and reports every difference. Every header
 * field must be listed, in any order; the status text is not compared; a JSON body is compared by
 * structure. `text-pattern.ts` and `value-pattern.ts` define the placeholders.
 *
 * A status is a number, `404|405` either, `!459` any other. A header field `{absent}` may not be there.
 */
import { parseJson } from "../../base/json-value.ts";
import type { HeaderFields } from "../../wire/fields.ts";
import { type Bindings, createBindings, matchText } from "./text-pattern.ts";
import { checkKind, kindOf } from "./value-kinds.ts";
import { type Mismatches, matchValue, shortest, show } from "./value-pattern.ts";

/** A response as written in a transcript. */
export interface ExpectedResponse {
  /** The status as written. */
  readonly status: string;
  /** The status line, fields and body as written. */
  readonly lines: readonly string[];
  readonly headers: readonly (readonly [name: string, pattern: string])[];
  readonly body: ExpectedBody;
  /** The reason to skip the case: a response like this shows that the server has nothing to test. */
  readonly skipReason?: string | undefined;
}

/** The expected body, compared by structure if it is JSON, else as text. */
type ExpectedBody =
  /** No body is written: it must be empty, unless unlisted content is ignored. */
  | { readonly kind: "unwritten" }
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "text"; readonly pattern: string };

interface ActualResponse {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly body: string;
}

interface MatchOptions {
  /** "ignore" for other servers, which may send header fields and a body that a transcript does not list. */
  readonly unlistedHeaders: "refuse" | "ignore";
  readonly bindings?: Bindings;
}

const UNWRITTEN: ExpectedBody = { kind: "unwritten" };
const ABSENT = "{absent}";
const STATUS_LINE = /^AGTP\/1\.0 (!?\d{3}(?:\|\d{3})*)(?: .*)?$/;
const FIELD = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(.*)$/;

/** Parses the lines of an expected response. */
export function parseExpectedResponse(lines: readonly string[]): {
  readonly response?: ExpectedResponse;
  readonly fault?: string;
} {
  const blank = lines.indexOf("");
  const [statusLine = "", ...fields] = blank === -1 ? lines : lines.slice(0, blank);
  const status = STATUS_LINE.exec(statusLine)?.[1];
  if (status === undefined) return { fault: `"${statusLine}" is no status line` };
  const headers: (readonly [string, string])[] = [];
  for (const field of fields) {
    const match = FIELD.exec(field);
    if (match === null) return { fault: `"${field}" is no header field` };
    headers.push([(match[1] ?? "").toLowerCase(), match[2] ?? ""]);
  }
  const body = blank === -1 ? UNWRITTEN : parseBody(lines.slice(blank + 1).join("\n"));
  return { response: { status, lines, headers, body } };
}

function parseBody(text: string): ExpectedBody {
  try {
    return { kind: "json", value: JSON.parse(text) };
  } catch {
    return { kind: "text", pattern: text };
  }
}

/** The expected response that matched, or the mismatches. */
type Matched =
  | { readonly kind: "match"; readonly response: ExpectedResponse }
  | { readonly kind: "mismatch"; readonly mismatches: Mismatches };

/** Finds the first expected response that matches; otherwise returns the mismatches of the closest one. */
export function matchAny(
  expected: readonly ExpectedResponse[],
  actual: ActualResponse,
  options: MatchOptions,
): Matched {
  const ofStatus: Mismatches[] = [];
  for (const response of expected) {
    const mismatches = matchResponse(response, actual, options);
    if (mismatches.length === 0) return { kind: "match", response };
    if (isStatus(response.status, actual)) ofStatus.push(mismatches);
  }
  if (ofStatus.length > 0) return { kind: "mismatch", mismatches: shortest(ofStatus) };
  const wanted = expected.filter(({ skipReason }) => skipReason === undefined);
  const statuses = wanted.map(({ status }) => status).join("|");
  return { kind: "mismatch", mismatches: [statusMismatch(statuses, actual)] };
}

/** A field about the connection, on its first response; only compared where a transcript lists it. */
const OF_CONNECTION = "supported-methods";

/** Returns every mismatch between a response and the expected one. */
export function matchResponse(
  expected: ExpectedResponse,
  actual: ActualResponse,
  { unlistedHeaders, bindings = createBindings() }: MatchOptions = { unlistedHeaders: "refuse" },
): Mismatches {
  const mismatches: string[] = [];
  if (!isStatus(expected.status, actual)) mismatches.push(statusMismatch(expected.status, actual));
  for (const [name, pattern] of expected.headers) {
    const fault = fieldFault(pattern, actual.headers.get(name), bindings);
    if (fault !== undefined) mismatches.push(`header ${name}: ${fault}`);
  }
  const listed = new Set([OF_CONNECTION, ...expected.headers.map(([name]) => name)]);
  for (const [name, value] of unlistedHeaders === "refuse" ? actual.headers : []) {
    if (!listed.has(name)) mismatches.push(`header ${name}: not expected, got ${value}`);
  }
  const isIgnored = unlistedHeaders === "ignore" && expected.body.kind === "unwritten";
  if (isIgnored) return mismatches;
  return [...mismatches, ...matchBody(expected.body, actual.body, bindings)];
}

function isStatus(pattern: string, { status }: ActualResponse): boolean {
  const isListed = pattern.replace("!", "").split("|").includes(String(status));
  return pattern.startsWith("!") ? !isListed : isListed;
}

function statusMismatch(pattern: string, { status }: ActualResponse): string {
  const wanted = pattern.replace("!", "any but ").replaceAll("|", " or ");
  return `status: expected ${wanted}, got ${status}`;
}

function fieldFault(
  pattern: string,
  value: string | undefined,
  bindings: Bindings,
): string | undefined {
  if (pattern === ABSENT) return value === undefined ? undefined : `not expected, got ${value}`;
  if (value === undefined) return "missing";
  const kind = kindOf(pattern);
  if (kind !== undefined) return checkKind(kind, value, bindings);
  return matchText(pattern, value, bindings) ? undefined : `expected ${pattern}, got ${value}`;
}

function matchBody(expected: ExpectedBody, actual: string, bindings: Bindings): Mismatches {
  if (expected.kind !== "json") {
    const pattern = expected.kind === "text" ? expected.pattern : "";
    if (matchText(pattern, actual, bindings)) return [];
    return [`body: expected "${pattern}", got ${show(actual)}`];
  }
  const value = parseJson(actual);
  if (value === undefined) return [`body: expected JSON, got ${show(actual)}`];
  return matchValue(expected.value, value, { at: "body", bindings });
}
