/**
 * A place in a manifest: its value, its JSON Pointer, and the clause that it is judged by. Readers
 * answer with the value, or with nothing and a fault, so that one pass finds everything.
 */
import { suggest } from "../../base/close-matches.ts";
import { escapeToken } from "../../base/json-pointer.ts";
import { describeValue, isRecord, type JsonRecord, quoteValue } from "../../base/json-value.ts";
import type { ReportFinding, Severity } from "./findings.ts";

/** One value of a manifest. */
export class Place {
  readonly value: unknown;
  readonly pointer: string;
  readonly clause: string;
  readonly #report: ReportFinding;

  constructor(value: unknown, at: Pick<Place, "pointer" | "clause">, report: ReportFinding) {
    this.value = value;
    this.pointer = at.pointer;
    this.clause = at.clause;
    this.#report = report;
  }

  /** null says no more than absence, where a member may be absent. */
  get isAbsent(): boolean {
    return this.value === undefined || this.value === null;
  }

  /** The same place, judged by another clause. */
  under(clause: string): Place {
    return new Place(this.value, { pointer: this.pointer, clause }, this.#report);
  }

  /** A member of an object; its value is undefined where there is none. */
  at(name: string): Place {
    const { value } = this;
    const member = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    const token = escapeToken(name);
    return this.#below(member, token);
  }

  fault(message: string): undefined {
    this.#add("fault", message);
  }

  warn(message: string): undefined {
    this.#add("warning", message);
  }

  /** A fault or a warning somewhere inside. */
  addBelow(severity: Severity, pointer: string, message: string): void {
    this.#report({ severity, pointer: this.pointer + pointer, clause: this.clause, message });
  }

  /** An object, required. */
  record(): JsonRecord | undefined {
    const { value } = this;
    return isRecord(value) ? value : this.fault(`${describeValue(value)}, expected an object`);
  }

  /** The items of an array, required. */
  items(): readonly Place[] | undefined {
    const { value } = this;
    if (!Array.isArray(value)) return this.fault(`${describeValue(value)}, expected an array`);
    return value.map((item: unknown, index) => this.#below(item, String(index)));
  }

  /** A text that is not blank, required. */
  text(): string | undefined {
    const { value } = this;
    if (typeof value === "string" && value.trim() !== "") return value;
    return this.fault(`${describeValue(value)}, expected a text`);
  }

  /** The same, where it may be absent. */
  optionalText(): string | undefined {
    return this.isAbsent ? undefined : this.text();
  }

  /** `true` or `false`, required. */
  flag(): boolean | undefined {
    const { value } = this;
    if (typeof value === "boolean") return value;
    return this.fault(`${describeValue(value)}, expected true or false`);
  }

  /** One of some words, required. */
  word<const T extends string>(words: readonly T[]): T | undefined {
    const { value } = this;
    const word = words.find((candidate) => candidate === value);
    if (word !== undefined) return word;
    return this.fault(`${describeValue(value)}, expected one of ${words.join(", ")}`);
  }

  /** The different texts of an array, required. */
  texts(): readonly Place[] {
    const seen = new Set<string>();
    return (this.items() ?? []).filter((item) => {
      const text = item.text();
      if (text === undefined) return false;
      const isNew = !seen.has(text);
      if (!isNew) item.fault(`${quoteValue(text)} is listed twice`);
      seen.add(text);
      return isNew;
    });
  }

  /** Warns of members that the draft does not name: they mean nothing to other implementations. */
  warnOfOthers(known: readonly string[]): void {
    if (!isRecord(this.value)) return;
    for (const name of Object.keys(this.value)) {
      if (known.includes(name)) continue;
      const hint = suggest(name, known);
      this.at(name).warn(`is no member of the draft${hint === undefined ? "" : `, ${hint}`}`);
    }
  }

  #below(value: unknown, token: string): Place {
    const { clause, pointer } = this;
    return new Place(value, { clause, pointer: `${pointer}/${token}` }, this.#report);
  }

  #add(severity: Severity, message: string): void {
    this.#report({ severity, pointer: this.pointer, clause: this.clause, message });
  }
}
