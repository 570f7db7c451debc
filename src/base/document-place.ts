/**
 * A value of a document, and where it stands. Each reader answers with what it read, or with nothing and
 * a fault, so that one pass over a document finds everything that is wrong with it. Files of operators,
 * manifests of agents and those of servers are all read here, in the same words.
 */
import { suggest } from "./close-matches.ts";
import { type DocumentStyle, TOML_STYLE } from "./document-style.ts";
import type { Problem } from "./problem.ts";
import { isTable, type TomlTable } from "./toml-document.ts";

/** A place in a file that problems point at. */
export interface Place {
  /** Relative to the deployment directory. */
  readonly file: string;
  /** Dotted key or JSON Pointer, "" for the root. */
  readonly key: string;
}

/** The words for a fault at a place. */
export interface Remark extends Problem {
  /** The clause of a specification that says so. */
  readonly clause: string;
}

/** The list that remarks go to, and their style. */
export interface DocumentReader {
  readonly style: DocumentStyle;
  /** Takes in a remark; false: nobody reads any more. */
  report(remark: Remark): boolean;
}

type Position = Place & { readonly name: string; readonly clause: string };

interface RecordsOptions {
  /** The keys that a record may have; without them any key is fine. */
  readonly known?: readonly string[];
  readonly most?: number;
}

export class DocumentPlace implements Place {
  /** Undefined where there is none. */
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

  /** null says no more than absence, where a member may be absent. */
  get isAbsent(): boolean {
    return this.value === undefined || this.value === null;
  }

  /** The place itself, for reading what may be absent. */
  get optional(): this | undefined {
    return this.isAbsent ? undefined : this;
  }

  /** Judges this place by another clause. */
  under(clause: string): DocumentPlace {
    return new DocumentPlace(this.value, { ...this.#position, clause }, this.#reader);
  }

  /** The names of the members, in the order of the document. */
  get names(): readonly string[] {
    return Object.keys(this.members);
  }

  /** The members; none where the value has none. */
  get members(): TomlTable {
    return isTable(this.value) ? this.value : {};
  }

  has(name: string | readonly string[]): boolean {
    return !this.at(name).isAbsent;
  }

  /** A member, under whichever of its names it is there; faults use the first. */
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

  /** Records what is no fault, but should be looked at. */
  warn(message: string, hint?: string): undefined {
    this.#report({ message, hint, severity: "warning" });
  }

  /** Records a fault of something inside, which was found without coming by. */
  failBelow(key: string, message: string, hint?: string): void {
    const { file, clause } = this;
    this.#reader.report({ file, clause, key: this.key + key, message, hint });
  }

  /** A text that is not blank. */
  text(): string | undefined {
    const { value } = this;
    const { longestText, text } = this.#style;
    const isLong = typeof value === "string" && value.length > longestText;
    if (typeof value === "string" && value.trim() !== "" && !isLong) return value;
    return isLong ? this.fail(`is too long, expected ${text}`) : this.#expect(text);
  }

  /** `true` or `false`. */
  flag(): boolean | undefined {
    return typeof this.value === "boolean" ? this.value : this.#expect("true or false");
  }

  /** A finite number of at least `min` and at most `max`. */
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

  /** The places of an array's texts, each of which is there once. */
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

  /** Texts without duplicates; absent is empty. */
  texts(): readonly string[] {
    return (this.optional?.textItems() ?? []).map(({ value }) => String(value));
  }

  /** An object. Its keys are checked against the known ones; without them any key is fine. */
  record(known?: readonly string[]): this | undefined {
    if (!isTable(this.value)) return this.#expect(this.#style.record);
    if (known !== undefined) this.#checkNames(known);
    return this;
  }

  /** The objects of an array; absent is empty. What is no object is a fault, and left out. */
  records({ known, most = Number.POSITIVE_INFINITY }: RecordsOptions = {}): DocumentPlace[] {
    const items = this.optional?.items(this.#style.describeRecords(this.name)) ?? [];
    if (items.length > most) {
      this.fail(`has ${items.length} items, expected at most ${most}`);
      return [];
    }
    return items.flatMap((item) => item.record(known) ?? []);
  }

  /** An object of texts as its entries, in order; absent is empty. */
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

/** A hostile file may be wrong in a hundred thousand places; nobody reads that many problems. */
const MAX_PROBLEMS = 200;

interface DocumentOptions {
  readonly style?: DocumentStyle;
  /** Problems that somebody reads. */
  readonly most?: number;
}

/** The root of a document, or a part of it, whose faults become problems of its file. */
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
