/** The check of one value by one schema: its place, its findings, and its evaluated members. */
import { escapeToken } from "../base/dotted-key.ts";
import type { JsonSchema } from "./json-schema.ts";
import type { LinearRegex } from "./linear-regex.ts";
import type { SchemaError } from "./schema-violation.ts";
import type { WorkMeter } from "./work-meter.ts";

/** Checks a value, and reports findings to the judgement. */
export type Judge = (value: unknown, at: Judgement) => boolean;

/** The maximum number of findings about one value. */
const MAX_FINDINGS = 20;
/** The maximum nesting of judgements; each takes some 600 bytes of the stack. */
const MAX_LEVELS = 400;

interface Circumstances {
  readonly meter: WorkMeter;
  /** Absent if only the verdict matters. */
  readonly findings: SchemaError[] | undefined;
  readonly evaluated: EvaluatedMembers | undefined;
  readonly level: number;
  readonly parent: Judgement | undefined;
  /** The name or index of the value in its parent; undefined for the parent's own value. */
  readonly token: string | number | undefined;
}

/** The check of a value at its place by one schema. */
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

  /** Starts the check of a whole value. */
  static begin(meter: WorkMeter, findings: SchemaError[]): Judgement {
    const none = { evaluated: undefined, parent: undefined, token: undefined };
    return new Judgement({ meter, findings, level: 0, ...none });
  }

  /** Tells whether further findings would be ignored. */
  get isSettled(): boolean {
    return this.#findings === undefined || this.#findings.length >= MAX_FINDINGS;
  }

  get meter(): WorkMeter {
    return this.#meter;
  }

  spend(units: number): void {
    this.#meter.spend(units);
  }

  /** Reports a finding, and returns the verdict false. */
  fail(keyword: string, message: string, params: SchemaError["params"] = {}): false {
    if (!this.isSettled) {
      this.#findings?.push({ keyword, message, params, instancePath: this.#path() });
    }
    return false;
  }

  /** Tells whether all hold; stops at the first that does not if further findings would be ignored. */
  allHold<T>(some: Iterable<T>, holds: (one: T) => boolean): boolean {
    let isValid = true;
    for (const one of some) {
      if (holds(one)) continue;
      isValid = false;
      if (this.isSettled) break;
    }
    return isValid;
  }

  /** Reports findings that were collected separately. */
  report(findings: readonly SchemaError[]): void {
    for (const finding of findings) if (!this.isSettled) this.#findings?.push(finding);
  }

  /** Returns the judgement of a member or an item. */
  child(token: string | number): Judgement {
    return this.#derive({ token, evaluated: undefined });
  }

  /** Returns a judgement of the same value by another schema, optionally with other findings. */
  branch(findings?: SchemaError[]): Judgement {
    const evaluated = this.evaluated && new EvaluatedMembers();
    return this.#derive({ evaluated, findings: findings ?? this.#findings });
  }

  /** Returns a judgement of the same value by another schema, without findings. */
  silently(): Judgement {
    return this.#derive({
      evaluated: this.evaluated && new EvaluatedMembers(),
      findings: undefined,
    });
  }

  /** Returns a judgement of the same value that tracks evaluated members. */
  tracking(): Judgement {
    return this.evaluated === undefined
      ? this.#derive({ evaluated: new EvaluatedMembers() })
      : this;
  }

  /** Adds the members that a valid branch has evaluated. */
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

/** Evaluated members and items. */
class EvaluatedMembers {
  readonly names: Set<string> = new Set();
  readonly indexes: Set<number> = new Set();
  #hasAllNames = false;
  #items = 0;

  get hasAllNames(): boolean {
    return this.#hasAllNames;
  }

  /** The number of evaluated items, from the first. */
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

/** The context that a keyword may need besides its own value. */
export interface JudgeSurroundings {
  /** The schema that contains the keyword. */
  readonly schema: JsonSchema;
  judgeOf(schema: unknown): Judge;
  /** Returns the target of a local reference. */
  resolve(reference: string): unknown;
  regexOf(pattern: string): LinearRegex;
}

/** Creates the judge of a keyword from its value; undefined if it refuses nothing. */
export type JudgeMaker = (value: unknown, surroundings: JudgeSurroundings) => Judge | undefined;
