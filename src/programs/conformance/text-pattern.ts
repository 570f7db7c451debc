/**
 * Text patterns with placeholders, which transcripts use in header fields and strings. Matches a text,
 * and captures values for later parts of the case.
 *
 * `{any}` is any text; `{uuid}` a UUIDv7; `{date}` an RFC 3339 time; `{hex}` lower-case hex digits;
 * `{sha256}` 64 of them; `{method}` a method name; `{version}` dotted numbers; `{token}` visible
 * ASCII; `{one|two}` either text. `{uuid:name}` captures the text as `{{name}}`, and `{{name}}`
 * is the value bound to that name: a path of members, `{{manifest.catalog_version}}`. Anything else in
 * braces is itself.
 */
import { valueAt } from "../../base/json-value.ts";

/** The values bound to names, for the duration of a case. */
export interface Bindings {
  /** Returns undefined for an unbound name. */
  get(name: string): unknown;
  /** Binds a captured value, replacing an earlier one. */
  set(name: string, value: unknown): void;
}

/** `{{name}}`; the first group is the name. */
export const VARIABLE: RegExp = /\{\{([a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+)*)\}\}/g;

/**
 * Creates bindings over the given values, which later ones do not modify. A function is called for
 * a new value each time.
 */
export function createBindings(values: Readonly<Record<string, unknown>> = {}): Bindings {
  const bound = new Map(Object.entries(values));
  return {
    get(name) {
      const [first = "", ...members] = name.split(".");
      const value = bound.get(first);
      return valueAt(typeof value === "function" ? value() : value, members);
    },
    set: (name, value) => void bound.set(name, value),
  };
}

const PLACEHOLDERS: ReadonlyMap<string, string> = new Map([
  ["any", "[^]*"],
  ["hex", "[0-9a-f]+"],
  ["sha256", "[0-9a-f]{64}"],
  ["uuid", "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"],
  ["date", "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?(?:Z|[+-]\\d\\d:\\d\\d)"],
  ["method", "[A-Z]{3,32}"],
  ["version", "\\d{1,9}(?:\\.\\d{1,9}){0,3}(?:[-+][0-9A-Za-z.+-]{1,64})?"],
  ["token", "[\\x21-\\x7e]{1,512}"],
]);

const PIECE =
  /(\{\{[a-z][a-z0-9_.]*\}\}|\{(?:any|hex|sha256|uuid|date|method|version|token)(?::[a-z][a-z0-9_]*)?\}|\{[\w .:-]+(?:\|[\w .:-]+)+\})/;
const NAMED = /^\{(\w+)(?::(\w+))?\}$/;

/** Longer texts are not matched, because a hostile one could make the regular expression run for minutes. */
const MAX_TEXT_LENGTH = 65_536;

/** Returns true if a text matches the pattern; captures are only bound on a match. */
export function matchText(pattern: string, text: string, bindings: Bindings): boolean {
  if (pattern === "{any}") return true;
  const names: string[] = [];
  const expression = pattern
    .split(PIECE)
    .map((piece) => toExpression(piece, bindings, names))
    .join("");
  if (text.length > MAX_TEXT_LENGTH && expression.includes("[^]*")) return false;
  const match = new RegExp(`^${expression}$`).exec(text);
  if (match === null) return false;
  for (const [index, name] of names.entries()) bindings.set(name, match[index + 1]);
  return true;
}

function toExpression(piece: string, bindings: Bindings, names: string[]): string {
  if (piece.startsWith("{{") && piece.endsWith("}}")) {
    const value = bindings.get(piece.slice(2, -2));
    // An unbound name stays as written, so that the report shows it.
    return escapeText(value === undefined ? piece : asText(value));
  }
  const [, kind = "", name] = NAMED.exec(piece) ?? [];
  const placeholder = PLACEHOLDERS.get(kind);
  if (placeholder !== undefined) {
    if (name === undefined) return `(?:${placeholder})`;
    names.push(name);
    return `(${placeholder})`;
  }
  if (!PIECE.test(piece)) return escapeText(piece);
  return `(?:${piece.slice(1, -1).split("|").map(escapeText).join("|")})`;
}

/** Formats a value for use inside a text. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function escapeText(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
