/**
 * A value of a document with its place. Each reader method returns the value, or nothing and
 * reports a fault, so that one pass finds every fault of a document. Operators' files, agents'
 * manifests and servers' manifests are all read with it, and so have the same messages.
 */
import { suggest } from "./close-matches.ts";
import { type DocumentStyle, TOML_STYLE } from "./document-style.ts";
import type { Problem } from "./problem.ts";
import { isTable, type TomlTable } from "./toml-document.ts";

/** A place in a file, for problems. */
export interface Place {
  /** The path relative to the deployment directory. */
  readonly file: string;
  /** The dotted key or JSON Pointer, "" for the root. */
  readonly key: string;
}

/** A fault at a place. */
export interface Remark extends Problem {
  /** The clause of a specification that it violates. */
  readonly clause: string;
}

/** The collector of remarks, and the style of messages. */
export interface DocumentReader {
  readonly style: DocumentStyle;
  /** Reports a remark; false if further ones are ignored. */
  report(remark: Remark): boolean;
}

type Position = Place & { readonly name: string; readonly clause: string };

interface RecordsOptions {
  /** The permitted keys; any key without them. */
  readonly known?: readonly string[];
  readonly most?: number;
}

export class DocumentPlace implements Place {
  /** The value; undefined if absent. */
  readonly value: unknown;
  readonly file: string;
  readonly key: string;
  readonly clause: string;
  readonly name: string;
  readonly #reader: DocumentReader;

  constructor(value: unknown, { file, key, name, clause }: Position, reader: DocumentReader) {
    this.value = value;
    this.file = file;
    this.key = key;
    this.name = name;
    this.clause = clause;
    this.#reader = reader;
  }

  /** True for absence and for null, which mean the same for an optional member. */
  get isAbsent(): boolean {
    return this.value === undefined || this.value === null;
  }

  /** Returns this place if it is present, for reading an optional value. */
  get optional(): this | undefined {
    return this.isAbsent ? undefined : this;
  }

  /** Returns this place with another clause for its remarks. */
  under(clause: string): DocumentPlace {
    return new DocumentPlace(this.value, { ...this.#position, clause }, this.#reader);
  }

  /** The names of the members, in document order. */
  get names(): readonly string[] {
    return Object.keys(this.members);
  }

  /** The members; empty if the value is no object. */
  get members(): TomlTable {
    return isTable(this.value) ? this.value : {};
  }

  has(name: string | readonly string[]): boolean {
    return !this.at(name).isAbsent;
  }

  /** Returns a member, by the first of its names that is present; faults use the first name. */
  at(name: string | readonly string[]): DocumentPlace {
    const { members } = this;
    const names = typeof name === "string" ? [name] : name;
    const isThere = (one: string): boolean =>
      Object.hasOwn(members, one) && !(this.#style.isNullAbsent && members[one] === null);
    const written = names.find(isThere);
    return this.#below(
      written === undefined ? undefined : members[written],
      written ?? names[0] ?? "",
    );
  }

  fail(message: string, hint?: string): undefined {
    this.#report({ message, hint });
  }

  /** Reports a warning. */
  warn(message: string, hint?: string): undefined {
    this.#report({ message, hint, severity: "warning" });
  }

  /** Reports a fault of an inner value that was found without reading it here. */
  failBelow(key: string, message: string, hint?: string): void {
    const { file, clause } = this;
    this.#reader.report({ file, clause, key: this.key + key, message, hint });
  }

  /** Reads a non-blank text. */
  text(): string | undefined {
    const { value } = this;
    const { longestText, text } = this.#style;
    const isLong = typeof value === "string" && value.length > longestText;
    if (typeof value === "string" && value.trim() !== "" && !isLong) return value;
    return isLong ? this.fail(`is too long, expected ${text}`) : this.#expect(text);
  }

  /** Reads `true` or `false`. */
  flag(): boolean | undefined {
    return typeof this.value === "boolean" ? this.value : this.#expect("true or false");
  }

  /** Reads a finite number from `min` to `max`. */
  number(min: number, max: number): number | undefined {
    const { value } = this;
    if (typeof value === "number" && value >= min && value <= max) return value;
    return this.#expect(`a number from ${min} to ${max}`);
  }

  word<const T extends string>(words: readonly T[]): T | undefined {
    const { value } = this;
    const word = words.find((candidate) => candidate === value);
    if (word !== undefined) return word;
    const { quotesWords, suggestsWords } = this.#style;
    const listed = quotesWords ? words.map((one) => JSON.stringify(one)) : words;
    const hint = suggestsWords && typeof value === "string" ? suggest(value, words) : undefined;
    return this.#expect(`one of ${listed.join(", ")}`, hint);
  }

  items(expected: string = this.#style.list): readonly DocumentPlace[] | undefined {
    const { value } = this;
    if (!Array.isArray(value)) return this.#expect(expected);
    return value.map((item: unknown, index) => this.#below(item, index));
  }

  /** Returns the places of an array's texts, without duplicates. */
  textItems(): readonly DocumentPlace[] {
    const seen = new Set<string>();
    return (this.items(this.#style.texts) ?? []).filter((item) => {
      const text = item.text();
      if (text === undefined) return false;
      const isNew = !seen.has(text);
      if (!isNew) item.fail(this.#style.describeRepeated(text));
      seen.add(text);
      return isNew;
    });
  }

  /** Reads an array of texts without duplicates; empty if absent. */
  texts(): readonly string[] {
    return (this.optional?.textItems() ?? []).map(({ value }) => String(value));
  }

  /** Reads an object, and checks its keys if `known` is given. */
  record(known?: readonly string[]): this | undefined {
    if (!isTable(this.value)) return this.#expect(this.#style.record);
    if (known !== undefined) this.#checkNames(known);
    return this;
  }

  /** Reads the objects of an array; empty if absent. Other items are faults and left out. */
  records({ known, most = Number.POSITIVE_INFINITY }: RecordsOptions = {}): DocumentPlace[] {
    const items = this.optional?.items(this.#style.describeRecords(this.name)) ?? [];
    if (items.length > most) {
      this.fail(`has ${items.length} items, expected at most ${most}`);
      return [];
    }
    return items.flatMap((item) => item.record(known) ?? []);
  }

  /** Reads an object of texts as entries, in order; empty if absent. */
  textEntries(): readonly (readonly [string, string])[] {
    const record = this.optional?.record();
    return (record?.names ?? []).flatMap((name): (readonly [string, string])[] => {
      const text = record?.at(name).text();
      return text === undefined ? [] : [[name, text]];
    });
  }

  get #style(): DocumentStyle {
    return this.#reader.style;
  }

  get #position(): Position {
    const { file, key, name, clause } = this;
    return { file, key, name, clause };
  }

  #below(value: unknown, token: string | number): DocumentPlace {
    const key = this.#style.keyOf(this.key, token);
    return new DocumentPlace(value, { ...this.#position, key, name: String(token) }, this.#reader);
  }

  #expect(expected: string, hint?: string): undefined {
    return this.fail(this.#style.fault(this.value, expected), hint);
  }

  #checkNames(known: readonly string[]): void {
    for (const name of this.names) {
      if (known.includes(name)) continue;
      const hint = suggest(name, known) ?? `known keys: ${known.join(", ")}`;
      if (!this.at(name).#report({ message: "unknown key", hint })) return;
    }
  }

  #report(remark: Pick<Remark, "message" | "hint" | "severity">): boolean {
    const { file, key, clause } = this;
    return this.#reader.report({ file, key, clause, ...remark });
  }
}

/** The maximum number of problems, since a hostile file may have a hundred thousand. */
const MAX_PROBLEMS = 200;

interface DocumentOptions {
  readonly style?: DocumentStyle;
  /** The maximum number of problems that are read. */
  readonly most?: number;
}

/** Returns the root of a document or a part of it; faults become problems of its file. */
export function documentAt(
  value: unknown,
  { file, key }: Place,
  problems: Problem[],
  { style = TOML_STYLE, most = MAX_PROBLEMS }: DocumentOptions = {},
): DocumentPlace {
  const reader = {
    style,
    report({ clause: _, ...problem }: Remark): boolean {
      if (problems.length < most) problems.push(problem);
      return problems.length < most;
    },
  };
  return new DocumentPlace(value, { file, key, name: key, clause: "" }, reader);
}
