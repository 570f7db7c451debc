/**
 * Writes TOML for people to read and edit: small tables inline, larger ones under a heading,
 * remarks after the values they refer to. Reading the text yields the given values.
 */
import { joinKey } from "../base/dotted-key.ts";
import { isRecord, type JsonRecord } from "../base/json-value.ts";

const MAX_LINE = 100;
const BARE_KEY = /^[A-Za-z0-9_-]+$/;

type TomlRemarks = ReadonlyMap<string, string>;

/** Writes a table of JSON values without null. */
export function writeToml(table: JsonRecord, remarks: TomlRemarks = new Map()): string {
  const writer = new TomlWriter(remarks);
  writer.writeMembers(table, [], "");
  return writer.text;
}

class TomlWriter {
  readonly #remarks: TomlRemarks;
  readonly #lines: string[] = [];
  /** The keys of tables that contain remarks. */
  readonly #remarked: ReadonlySet<string>;

  constructor(remarks: TomlRemarks) {
    this.#remarks = remarks;
    this.#remarked = new Set([...remarks.keys()].flatMap(placesAround));
  }

  get text(): string {
    const [first, ...rest] = this.#lines;
    const lines = first === "" ? rest : this.#lines;
    return `${lines.join("\n")}\n`;
  }

  /** Values are written before tables: everything after a heading belongs to its table. */
  writeMembers(table: JsonRecord, path: readonly string[], place: string): void {
    const members = Object.entries(table).filter(([, value]) => value !== undefined);
    const headed: [name: string, value: unknown][] = [];
    for (const [name, value] of members) {
      if (this.#needsHeading(name, value, path, place)) headed.push([name, value]);
      else this.#writeValue(name, value, joinKey(place, name));
    }
    for (const [name, value] of headed) this.#writeHeaded(name, value, path, place);
  }

  #needsHeading(name: string, value: unknown, path: readonly string[], place: string): boolean {
    if (typeof value !== "object" || value === null) return false;
    if (Array.isArray(value) && !(value.length > 0 && value.every(isRecord))) return false;
    if (path.length < 1 || this.#remarked.has(joinKey(place, name))) return true;
    return roomBehind(value, MAX_LINE - writeKey(name).length - 3) < 0;
  }

  /** A table that only contains tables with headings needs no heading itself. */
  #needsOwnHeading(table: JsonRecord, path: readonly string[], place: string): boolean {
    const members = Object.entries(table).filter(([, value]) => value !== undefined);
    if (members.length === 0) return true;
    return members.some(([name, value]) => !this.#needsHeading(name, value, path, place));
  }

  #writeHeaded(name: string, value: unknown, path: readonly string[], place: string): void {
    const below = [...path, writeKey(name)];
    const key = joinKey(place, name);
    const tables: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const table of tables) {
      if (!isRecord(table)) continue;
      const heading = Array.isArray(value) ? `[[${below.join(".")}]]` : `[${below.join(".")}]`;
      if (Array.isArray(value) || this.#needsOwnHeading(table, below, key)) {
        this.#lines.push("", heading);
      }
      this.writeMembers(table, below, key);
    }
  }

  #writeValue(name: string, value: unknown, place: string): void {
    const remark = this.#remarks.get(place);
    const suffix = remark === undefined ? "" : `  # ${remark.replace(/\s+/g, " ")}`;
    const line = `${writeKey(name)} = ${writeInline(value)}`;
    if (!Array.isArray(value) || line.length <= MAX_LINE || value.length < 2) {
      this.#lines.push(line + suffix);
      return;
    }
    const items = value.map((item) => `  ${writeInline(item)},`);
    this.#lines.push(`${writeKey(name)} = [${suffix}`, ...items, "]");
  }
}

function placesAround(key: string): readonly string[] {
  return Array.from(key.matchAll(/\./g), ({ index }) => key.slice(0, index));
}

/**
 * The characters that remain of the line after a value, negative if it does not fit. The walk stops
 * once the value is too long, because every enclosing table repeats it.
 */
function roomBehind(value: unknown, room: number): number {
  if (room < 0 || (typeof value === "string" && value.length > room)) return -1;
  if (typeof value !== "object" || value === null) return room - writeInline(value).length;
  const isList = Array.isArray(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  // "[]" and "{}", or "{ " and " }" around members; ", " between them.
  let left = room - (isList || members.length === 0 ? 2 : 4) - 2 * Math.max(0, members.length - 1);
  for (const [name, member] of members) {
    left = roomBehind(member, isList ? left : left - writeKey(name).length - 3);
    if (left < 0) break;
  }
  return left;
}

/** Writes a value on one line. */
export function writeInline(value: unknown): string {
  if (typeof value === "string") return writeText(value);
  if (typeof value === "number") return writeNumber(value);
  if (typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return `[${value.map(writeInline).join(", ")}]`;
  if (!isRecord(value)) throw new TypeError(`TOML has no ${String(value)}`);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => `${writeKey(name)} = ${writeInline(member)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

function writeKey(name: string): string {
  return BARE_KEY.test(name) ? name : writeText(name);
}

/** An integer beyond the exact range of TOML readers is written as a float. */
function writeNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError("TOML for JSON has neither inf nor nan");
  if (Object.is(value, -0)) return "-0.0";
  const text = String(value);
  return Number.isSafeInteger(value) || /[.e]/.test(text) ? text : `${text}.0`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\f": "\\f",
  "\r": "\\r",
  '"': '\\"',
  "\\": "\\\\",
};

/**
 * Writes a basic string; a lone surrogate, which TOML cannot hold, becomes U+FFFD. Characters that
 * would change how the line is displayed are escaped.
 */
function writeText(text: string): string {
  const escaped = text
    .replace(/\p{Surrogate}/gu, "\ufffd")
    .replace(
      /["\\\x00-\x1f\x7f-\x9f\u2028\u2029]|\p{Bidi_Control}/gu,
      (character) =>
        ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  return `"${escaped}"`;
}
