/**
 * Reads operators' TOML: parses a text, and converts its values to JSON values. An invalid text is
 * a fault in words, never an exception.
 */
import { parse, TomlDate, TomlError } from "smol-toml";
import { reasonOf } from "./thrown.ts";

/** A TOML table; its prototype is null, so that every member is from the file. */
export type TomlTable = Readonly<Record<string, unknown>>;

type TomlDocument =
  | { readonly table: TomlTable; readonly fault?: undefined }
  | { readonly table?: undefined; readonly fault: string };

/** The maximum depth; deeper values would only exhaust the stack of recursive code. */
const MAX_DEPTH = 64;

const OPTIONS = { useLegacyDate: true, maxDepth: MAX_DEPTH } as const;
const LAST_DAYS = /\b(\d{4})-(?:02-(?:29|30|31)|(?:04|06|09|11)-31)(?!\d)/g;

function isDay(text: string): boolean {
  return new Date(text).toISOString().startsWith(text);
}

/** Parses a document; a fault has line and column. */
export function parseToml(text: string): TomlDocument {
  try {
    const table = parse(text, OPTIONS);
    // The parser accepts a day that its month lacks as the next month's, so that such days get an
    // invalid month.
    const strict = text.replace(LAST_DAYS, (day, year: string) =>
      isDay(day) ? day : `${year}-00-00`,
    );
    if (strict !== text) parse(strict, OPTIONS);
    return { table };
  } catch (error) {
    if (!(error instanceof TomlError)) return { fault: `is not TOML: ${reasonOf(error)}` };
    // Without the excerpt after it, which may contain a secret.
    const reason = error.message.split("\n", 1)[0]?.replace("Invalid TOML document: ", "");
    const at = `line ${error.line}, column ${error.column}${nameIn(text, error.line)}`;
    return { fault: `is not TOML: ${at}: ${reason}` };
  }
}

/** A key with the start of a value, or a table header; lines within a multi-line text match neither. */
const NAMED = /^\s*(?:([\w.-]{1,64})\s*=\s*["'[{\dtf]|\[\[?\s*([\w.-]{1,64})\s*\])/;

/** Returns the key or table at the start of a line, which is no secret. */
function nameIn(text: string, line: number): string {
  const [, key, table] = NAMED.exec(text.split("\n", line)[line - 1] ?? "") ?? [];
  const name = key ?? table;
  return name === undefined ? "" : `, at ${name}`;
}

/** Tells whether a value is a table, not an array, a date or a scalar. */
export function isTable(value: unknown): value is TomlTable {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)
  );
}

/**
 * Converts a TOML value to JSON: tables become plain objects, and dates ISO texts. Undefined for
 * values that JSON cannot represent: `inf`, `nan`, and nesting beyond 64 levels.
 */
export function toJson(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) return undefined;
  if (value instanceof TomlDate) return value.toISOString();
  if (Array.isArray(value)) {
    const items = value.map((item) => toJson(item, depth + 1));
    return items.includes(undefined) ? undefined : items;
  }
  if (isTable(value)) {
    const members: [string, unknown][] = [];
    for (const name of Object.keys(value)) {
      const member = toJson(value[name], depth + 1);
      if (member === undefined) return undefined;
      members.push([name, member]);
    }
    // fromEntries defines own members, even one named __proto__.
    return Object.fromEntries(members);
  }
  return typeof value === "number" && !Number.isFinite(value) ? undefined : value;
}
