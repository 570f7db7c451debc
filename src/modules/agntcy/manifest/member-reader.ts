/**
 * Reads one object of a manifest member by member. Each reader answers with the value, or with
 * nothing and a problem under the member's JSON Pointer, so that one pass finds everything that is
 * wrong. A member may be known under several names; null is the same as absent, as generated
 * documents have it; members that nobody knows are left alone.
 */
import { escapeToken } from "../../../base/json-pointer.ts";
import { describeValue, isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { Problem } from "../../../base/problem.ts";

/** Where problems of one file go. */
export interface ProblemList {
  readonly file: string;
  readonly problems: Problem[];
}

/** A name, or names of which the first is the one that messages use. */
export type MemberName = string | readonly string[];

/** A hostile manifest may be wrong in a hundred thousand places. */
const MAX_PROBLEMS = 100;
const MAX_TEXT_LENGTH = 4096;

/** One object, and the list its problems go to. */
export class MemberReader {
  readonly pointer: string;
  readonly #value: JsonRecord;
  readonly #list: ProblemList;

  constructor(value: JsonRecord, pointer: string, list: ProblemList) {
    this.#value = value;
    this.pointer = pointer;
    this.#list = list;
  }

  /** The member under whichever of its names it has. */
  find(name: MemberName): { readonly pointer: string; readonly value: unknown } {
    const names = typeof name === "string" ? [name] : name;
    const written = names.find(
      (one) => Object.hasOwn(this.#value, one) && this.#value[one] !== null,
    );
    const pointer = `${this.pointer}/${tokenOf(written ?? names[0] ?? "")}`;
    return { pointer, value: written === undefined ? undefined : this.#value[written] };
  }

  has(name: MemberName): boolean {
    return this.find(name).value !== undefined;
  }

  /** Records a problem with a member. */
  fail(
    name: MemberName,
    message: string,
    more: Pick<Problem, "hint" | "severity"> = {},
  ): undefined {
    this.report(this.find(name).pointer, message, more);
  }

  /** Records a problem anywhere in the file. */
  report(pointer: string, message: string, more: Pick<Problem, "hint" | "severity"> = {}): void {
    const { file, problems } = this.#list;
    if (problems.length < MAX_PROBLEMS) problems.push({ file, key: pointer, message, ...more });
  }

  /** A text that is not blank, required. */
  text(name: MemberName): string | undefined {
    const { value } = this.find(name);
    if (isText(value)) return value;
    const isLong = typeof value === "string" && value.length > MAX_TEXT_LENGTH;
    const expected = `expected a text of at most ${MAX_TEXT_LENGTH} characters`;
    return this.fail(name, `${isLong ? "is too long" : describeValue(value)}, ${expected}`);
  }

  optionalText(name: MemberName): string | undefined {
    return this.has(name) ? this.text(name) : undefined;
  }

  /** true or false; absent is false. */
  flag(name: MemberName): boolean {
    const { value = false } = this.find(name);
    if (typeof value === "boolean") return value;
    this.fail(name, `${describeValue(value)}, expected true or false`);
    return false;
  }

  /** One of a few words, required. */
  word<Word extends string>(name: MemberName, words: readonly Word[]): Word | undefined {
    const { value } = this.find(name);
    const word = words.find((one) => one === value);
    if (word !== undefined) return word;
    const listed = words.map((one) => JSON.stringify(one)).join(", ");
    return this.fail(name, `${describeValue(value)}, expected one of ${listed}`);
  }

  /** An object, required. */
  object(name: MemberName): MemberReader | undefined {
    const { pointer, value } = this.find(name);
    if (isRecord(value)) return new MemberReader(value, pointer, this.#list);
    return this.fail(name, `${describeValue(value)}, expected an object`);
  }

  optionalObject(name: MemberName): MemberReader | undefined {
    return this.has(name) ? this.object(name) : undefined;
  }

  /** A list of objects; absent is empty. What is no object is a problem and left out. */
  objects(name: MemberName, most: number): readonly MemberReader[] {
    const { pointer, value = [] } = this.find(name);
    if (!Array.isArray(value)) {
      this.fail(name, `${describeValue(value)}, expected an array`);
      return [];
    }
    if (value.length > most) {
      this.fail(name, `has ${value.length} items, expected at most ${most}`);
      return [];
    }
    return value.flatMap((item: unknown, index) => {
      const at = `${pointer}/${index}`;
      if (isRecord(item)) return [new MemberReader(item, at, this.#list)];
      this.report(at, `${describeValue(item)}, expected an object`);
      return [];
    });
  }

  /** Texts by name; absent is empty. */
  texts(name: MemberName): Readonly<Record<string, string>> {
    const members = this.optionalObject(name);
    if (members === undefined) return {};
    const entries = Object.keys(members.#value).flatMap((key): (readonly [string, string])[] => {
      const { value } = members.find(key);
      if (typeof value === "string" && value.length <= MAX_TEXT_LENGTH) return [[key, value]];
      members.fail(key, `${describeValue(value)}, expected a text`);
      return [];
    });
    return Object.fromEntries(entries);
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "" && value.length <= MAX_TEXT_LENGTH;
}

/** A member's name as part of a JSON Pointer; a hostile one may have megabytes. */
function tokenOf(name: string): string {
  const short = name.length > 128 ? `${name.slice(0, 128)}…` : name;
  return escapeToken(short);
}
