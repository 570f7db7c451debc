/**
 * Reads one TOML table member by member. Each reader answers with the value, or with nothing and a
 * problem, so that one pass over a file finds everything that is wrong with it. A key that nobody
 * knows is a problem that names the closest known one, or all of them where none is close.
 */
import { suggest } from "./close-matches.ts";
import { joinKey } from "./dotted-key.ts";
import { describeValue, isRecord } from "./json-value.ts";
import type { Problem } from "./problem.ts";
import { isTable, type TomlTable } from "./toml-document.ts";

/** A place in a file that problems point at. */
export interface Place {
  /** Relative to the deployment directory. */
  readonly file: string;
  /** Dotted key, "" for the root. */
  readonly key: string;
}

/** A hostile file may have a hundred thousand unknown keys; nobody reads that many problems. */
const MAX_PROBLEMS = 200;

/** One table, and the list its problems go to. */
export class TableReader {
  readonly place: Place;
  readonly #table: TomlTable;
  readonly #problems: Problem[];

  /** Reports every key that is not among the known ones; without them any key is fine. */
  constructor(table: TomlTable, place: Place, problems: Problem[], known?: readonly string[]) {
    this.#table = table;
    this.place = place;
    this.#problems = problems;
    if (known !== undefined) this.#reportUnknownKeys(known);
  }

  /** The same table, with problems of its own and its keys checked. */
  reporting(problems: Problem[], known: readonly string[]): TableReader {
    return new TableReader(this.#table, this.place, problems, known);
  }

  /** The names of the members, in the file's order. */
  get names(): readonly string[] {
    return Object.keys(this.#table);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#table, name);
  }

  /** The value as TOML has it. */
  raw(name: string): unknown {
    return this.has(name) ? this.#table[name] : undefined;
  }

  /** The place of a member; "" is the table itself. */
  at(name: string): Place {
    const { file, key } = this.place;
    return { file, key: name === "" ? key : joinKey(key, name) };
  }

  /** Records a problem with a member. */
  fail(name: string, message: string, hint?: string): undefined {
    this.report({ ...this.at(name), message, ...(hint === undefined ? {} : { hint }) });
  }

  /** Records a problem anywhere in the file. */
  report(problem: Problem): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }

  /** A text that is not blank, required. */
  text(name: string): string | undefined {
    const value = this.raw(name);
    if (typeof value === "string" && value.trim() !== "") return value;
    return this.fail(name, `${describeToml(value)}, expected a text`);
  }

  optionalText(name: string): string | undefined {
    return this.has(name) ? this.text(name) : undefined;
  }

  /** `true` or `false`, required. */
  flag(name: string): boolean | undefined {
    const value = this.raw(name);
    if (typeof value === "boolean") return value;
    return this.fail(name, `${describeToml(value)}, expected true or false`);
  }

  /** A finite number of at least `min` and at most `max`, required. */
  number(name: string, min: number, max: number): number | undefined {
    const value = this.raw(name);
    if (typeof value === "number" && value >= min && value <= max) return value;
    return this.fail(name, `${describeToml(value)}, expected a number from ${min} to ${max}`);
  }

  /** One of some words, required. */
  word<const T extends string>(name: string, words: readonly T[]): T | undefined {
    const value = this.raw(name);
    const word = words.find((candidate) => candidate === value);
    if (word !== undefined) return word;
    const hint = typeof value === "string" ? suggest(value, words) : undefined;
    return this.fail(name, `${describeToml(value)}, expected one of ${words.join(", ")}`, hint);
  }

  /** A list of texts without duplicates; absent is empty. */
  texts(name: string): readonly string[] {
    if (!this.has(name)) return [];
    const value = this.raw(name);
    if (!Array.isArray(value)) {
      this.fail(name, `${describeToml(value)}, expected a list of texts`);
      return [];
    }
    const texts = new Set<string>();
    for (const [index, item] of value.entries()) {
      const place = { file: this.place.file, key: `${this.at(name).key}[${index}]` };
      if (typeof item !== "string" || item.trim() === "") {
        this.report({ ...place, message: `${describeToml(item)}, expected a text` });
      } else if (texts.has(item)) {
        this.report({ ...place, message: `${describeToml(item)} a second time` });
      } else texts.add(item);
    }
    return [...texts];
  }

  /** A table, required; its keys are checked against the known ones. */
  table(name: string, known?: readonly string[]): TableReader | undefined {
    const value = this.raw(name);
    if (isTable(value)) return new TableReader(value, this.at(name), this.#problems, known);
    return this.fail(name, `${describeToml(value)}, expected a table`);
  }

  optionalTable(name: string, known?: readonly string[]): TableReader | undefined {
    return this.has(name) ? this.table(name, known) : undefined;
  }

  /** The tables of an array of tables; absent is empty. */
  tables(name: string, known?: readonly string[]): readonly TableReader[] {
    if (!this.has(name)) return [];
    const value = this.raw(name);
    if (!Array.isArray(value)) {
      this.fail(name, `${describeToml(value)}, expected an array of tables, as in [[${name}]]`);
      return [];
    }
    return value.flatMap((item: unknown, index) => {
      const place = { file: this.place.file, key: `${this.at(name).key}[${index}]` };
      if (isTable(item)) return [new TableReader(item, place, this.#problems, known)];
      this.report({ ...place, message: `${describeToml(item)}, expected a table` });
      return [];
    });
  }

  /** A table of texts as its entries, in order; absent is empty. */
  textEntries(name: string): readonly (readonly [string, string])[] {
    const table = this.optionalTable(name);
    if (table === undefined) return [];
    return table.names.flatMap((member): (readonly [string, string])[] => {
      const text = table.text(member);
      return text === undefined ? [] : [[member, text]];
    });
  }

  #reportUnknownKeys(known: readonly string[]): void {
    for (const name of this.names) {
      if (known.includes(name)) continue;
      if (this.#problems.length >= MAX_PROBLEMS) return;
      this.fail(name, "unknown key", suggest(name, known) ?? `known keys: ${known.join(", ")}`);
    }
  }
}

/** How a message about a TOML value begins. */
export function describeToml(value: unknown): string {
  if (value instanceof Date) return "is a date";
  return isRecord(value) ? "is a table" : describeValue(value);
}
