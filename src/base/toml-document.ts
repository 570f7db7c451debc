/**
 * Reads TOML that an operator wrote. Decides whether a text is TOML at all and which of its values
 * are JSON values; a text that is neither is a fault in words, never an exception.
 */
import { parse, TomlDate, TomlError } from "smol-toml";
import { reasonOf } from "./thrown.ts";

/** A TOML table; its prototype is null, so every member is the file's own. */
export type TomlTable = Readonly<Record<string, unknown>>;

type TomlDocument =
  | { readonly table: TomlTable; readonly fault?: undefined }
  | { readonly table?: undefined; readonly fault: string };

/** Deeper values are not for schemas, and would only exhaust the stack of whoever walks them. */
const MAX_DEPTH = 64;

const OPTIONS = { useLegacyDate: true, maxDepth: MAX_DEPTH } as const;
const LAST_DAYS = /\b(\d{4})-(?:02-(?:29|30|31)|(?:04|06|09|11)-31)(?!\d)/g;

function isDay(text: string): boolean {
  return new Date(text).toISOString().startsWith(text);
}

/** Parses a document; a fault names line and column. */
export function parseToml(text: string): TomlDocument {
  try {
    const table = parse(text, OPTIONS);
    // A day that its month does not have is the next month's to the parser; of no month is none.
    const strict = text.replace(LAST_DAYS, (day, year: string) =>
      isDay(day) ? day : `${year}-00-00`,
    );
    if (strict !== text) parse(strict, OPTIONS);
    return { table };
  } catch (error) {
    if (!(error instanceof TomlError)) return { fault: `is not TOML: ${reasonOf(error)}` };
    // Without the excerpt that follows, which may show a secret.
    const reason = error.message.split("\n", 1)[0]?.replace("Invalid TOML document: ", "");
    const at = `line ${error.line}, column ${error.column}${nameIn(text, error.line)}`;
    return { fault: `is not TOML: ${at}: ${reason}` };
  }
}

/** A key with the beginning of a value, or a table: a line of a text in several lines is neither. */
const NAMED = /^\s*(?:([\w.-]{1,64})\s*=\s*["'[{\dtf]|\[\[?\s*([\w.-]{1,64})\s*\])/;

/** The key or table that a line begins with, which is no secret. */
function nameIn(text: string, line: number): string {
  const [, key, table] = NAMED.exec(text.split("\n", line)[line - 1] ?? "") ?? [];
  const name = key ?? table;
  return name === undefined ? "" : `, at ${name}`;
}

/** Tells whether a value is a table, as opposed to an array, a date or a scalar. */
export function isTable(value: unknown): value is TomlTable {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)
  );
}

/**
 * The JSON value of a TOML value: tables as plain objects, dates as ISO text. Undefined for what
 * JSON cannot say: `inf`, `nan`, and nesting beyond 64 levels.
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
    // fromEntries defines members, so that one named __proto__ stays a member.
    return Object.fromEntries(members);
  }
  return typeof value === "number" && !Number.isFinite(value) ? undefined : value;
}
