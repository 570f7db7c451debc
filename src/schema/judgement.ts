/**
 * One value on its way through one schema: where it is, who hears of what is wrong with it, and what of
 * it has been looked at.
 */
import { escapeToken } from "../base/dotted-key.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { LinearRegex } from "./linear-regex.ts";
import type { SchemaError } from "./schema-violation.ts";
import type { WorkMeter } from "./work-meter.ts";

/** Judges a value; what is wrong with it is told to the judgement. */
export type Judge = (value: unknown, at: Judgement) => boolean;

/** Nobody reads more about one value. */
const MAX_FINDINGS = 20;
/** Judgements inside each other; each takes some 600 bytes of the stack. */
const MAX_LEVELS = 400;

interface Circumstances {
  readonly meter: WorkMeter;
  /** Absent: only the verdict matters. */
  readonly findings: SchemaError[] | undefined;
  readonly evaluated: EvaluatedMembers | undefined;
  readonly level: number;
  readonly parent: Judgement | undefined;
  /** The name or index of the value in its parent; undefined: it is the parent's own value. */
  readonly token: string | number | undefined;
}

/** A value at its place, by one schema. */
export class Judgement {
  readonly evaluated: EvaluatedMembers | undefined;
  readonly #meter: WorkMeter;
  readonly #findings: SchemaError[] | undefined;
  readonly #level: number;
  readonly #parent: Judgement | undefined;
  readonly #token: string | number | undefined;

  private constructor(circumstances: Circumstances) {
    this.evaluated = circumstances.evaluated;
    this.#meter = circumstances.meter;
    this.#findings = circumstances.findings;
    this.#level = circumstances.level;
    this.#parent = circumstances.parent;
    this.#token = circumstances.token;
    if (this.#level > MAX_LEVELS) throw new RangeError("the value is nested too deeply");
  }

  /** The judgement of a whole value. */
  static begin(meter: WorkMeter, findings: SchemaError[]): Judgement {
    const none = { evaluated: undefined, parent: undefined, token: undefined };
    return new Judgement({ meter, findings, level: 0, ...none });
  }

  /** Tells whether nobody would hear of another finding. */
  get isSettled(): boolean {
    return this.#findings === undefined || this.#findings.length >= MAX_FINDINGS;
  }

  get meter(): WorkMeter {
    return this.#meter;
  }

  spend(units: number): void {
    this.#meter.spend(units);
  }

  /** Tells of something that is wrong; the verdict is always false. */
  fail(keyword: string, message: string, params: SchemaError["params"] = {}): false {
    if (!this.isSettled) {
      this.#findings?.push({ keyword, message, params, instancePath: this.#path() });
    }
    return false;
  }

  /** Tells whether all hold; stops at the first that does not when nobody hears of others. */
  allHold<T>(some: Iterable<T>, holds: (one: T) => boolean): boolean {
    let isValid = true;
    for (const one of some) {
      if (holds(one)) continue;
      isValid = false;
      if (this.isSettled) break;
    }
    return isValid;
  }

  /** Tells of what was found apart. */
  report(findings: readonly SchemaError[]): void {
    for (const finding of findings) if (!this.isSettled) this.#findings?.push(finding);
  }

  /** A member or an item of the value. */
  child(token: string | number): Judgement {
    return this.#derive({ token, evaluated: undefined });
  }

  /** Judges the same value by another schema, whose findings may go elsewhere. */
  branch(findings?: SchemaError[]): Judgement {
    const evaluated = this.evaluated && new EvaluatedMembers();
    return this.#derive({ evaluated, findings: findings ?? this.#findings });
  }

  /** Judges the same value by another schema, of which only the verdict matters. */
  silently(): Judgement {
    return this.#derive({
      evaluated: this.evaluated && new EvaluatedMembers(),
      findings: undefined,
    });
  }

  /** Judges the same value with a list of what was looked at. */
  tracking(): Judgement {
    return this.evaluated === undefined
      ? this.#derive({ evaluated: new EvaluatedMembers() })
      : this;
  }

  /** A member that a valid branch has looked at, its schema has looked at too. */
  adopt({ evaluated }: Judgement): void {
    if (this.evaluated === undefined || evaluated === undefined) return;
    this.spend(evaluated.names.size + evaluated.indexes.size);
    this.evaluated.add(evaluated);
  }

  #derive(change: Partial<Circumstances>): Judgement {
    return new Judgement({
      meter: this.#meter,
      findings: this.#findings,
      evaluated: this.evaluated,
      level: this.#level + 1,
      parent: this,
      token: undefined,
      ...change,
    });
  }

  #path(): string {
    const tokens: string[] = [];
    for (let at: Judgement | undefined = this; at !== undefined; at = at.#parent) {
      if (at.#token === undefined) continue;
      tokens.push(escapeToken(String(at.#token)));
    }
    return tokens
      .reverse()
      .map((token) => `/${token}`)
      .join("");
  }
}

/** Members and items that were looked at. */
class EvaluatedMembers {
  readonly names: Set<string> = new Set();
  readonly indexes: Set<number> = new Set();
  #hasAllNames = false;
  #items = 0;

  get hasAllNames(): boolean {
    return this.#hasAllNames;
  }

  /** So many items, from the first on. */
  get items(): number {
    return this.#items;
  }

  takeAllNames(): void {
    this.#hasAllNames = true;
  }

  countItems(count: number): void {
    this.#items = Math.max(this.#items, count);
  }

  add(other: EvaluatedMembers): void {
    for (const name of other.names) this.names.add(name);
    for (const index of other.indexes) this.indexes.add(index);
    this.#hasAllNames ||= other.hasAllNames;
    this.countItems(other.items);
  }
}

/** The parts that a keyword may need besides its own value. */
export interface JudgeSurroundings {
  /** The schema that the keyword stands in. */
  readonly schema: JsonSchema;
  judgeOf(schema: unknown): Judge;
  /** The schema that a local reference leads to. */
  resolve(reference: string): unknown;
  regexOf(pattern: string): LinearRegex;
}

/** Makes the judge of a keyword from its value; undefined: it refuses nothing. */
export type JudgeMaker = (value: unknown, surroundings: JudgeSurroundings) => Judge | undefined;
