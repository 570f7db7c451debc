/**
 * The bounds of a schema: its size, and what it may be made of. Schemas that callers propose
 * have tighter bounds than those of an operator's files.
 */
import { quoteValue } from "../base/json-value.ts";
import { compileLinearRegex } from "./linear-regex.ts";
import { FOREIGN_KEYWORDS, HARMLESS_FOREIGN, isPattern } from "./schema-vocabulary.ts";

/** The bounds of a schema's size. */
export interface SchemaBounds {
  /** Characters of its JSON text. */
  readonly maxLength: number;
  /** Schemas inside schemas. */
  readonly maxDepth: number;
  /** Schemas inside it in all. */
  readonly maxSchemas: number;
  /** Members of `properties` in all. */
  readonly maxProperties: number;
  readonly maxPatterns: number;
  readonly maxPatternLength: number;
  readonly maxReferences: number;
  /** Values of `enum` in all. */
  readonly maxValues: number;
  /** The number of times that it judges one value, through branches and references. */
  readonly maxJudgements: number;
  /** The most judgements of all schemas inside it together. */
  readonly maxJudgementsInAll: number;
  /**
   * Steps that one character takes under all patterns together, which then are RE2's; absent: the
   * engines of `schema.ts` are trusted with them.
   */
  readonly maxPatternSize?: number;
  /**
   * True if keywords that nobody knows, or that mean nothing where they are, are passed over: in a
   * file they are its author's error, in a proposal they are what JSON Schema says they are.
   */
  readonly isTolerant: boolean;
  /**
   * True if a format that JSON Schema does not define is one of its author's own, which says
   * nothing about values; where it is not, it is taken for a slip.
   */
  readonly takesForeignFormats?: boolean;
}

/** The bounds of an operator's own files. */
export const OPERATOR_SCHEMA_BOUNDS: SchemaBounds = {
  maxLength: 262_144,
  maxDepth: 32,
  maxSchemas: 65_536,
  maxProperties: 2048,
  maxPatterns: 256,
  maxPatternLength: 1024,
  maxReferences: 256,
  maxValues: 65_536,
  maxJudgements: 10_000,
  maxJudgementsInAll: 1_000_000,
  isTolerant: false,
};

/** The bounds of a caller's proposal. */
export const PROPOSED_SCHEMA_BOUNDS: SchemaBounds & { readonly maxPatternSize: number } = {
  maxLength: 65_536,
  maxDepth: 16,
  maxSchemas: 2048,
  maxProperties: 256,
  maxPatterns: 32,
  maxPatternLength: 256,
  maxReferences: 256,
  maxValues: 2048,
  maxJudgements: 1024,
  maxJudgementsInAll: 4096,
  maxPatternSize: 2048,
  isTolerant: true,
};

/** The bounds of an agent's schema: it describes whole conversations, more than a proposal may, by the same rules. */
export const AGENT_SCHEMA_BOUNDS: SchemaBounds = {
  ...PROPOSED_SCHEMA_BOUNDS,
  maxLength: 262_144,
  maxDepth: 24,
  maxSchemas: 8192,
  maxProperties: 2048,
  maxPatterns: 64,
  maxValues: 8192,
};

/** Counts what a schema uses up; each method answers with a fault once there is too much of it. */
export class SchemaBudget {
  readonly #bounds: SchemaBounds;
  #schemas = 0;
  #properties = 0;
  #patterns = 0;
  #references = 0;
  #values = 0;
  #patternSize = 0;

  constructor(bounds: SchemaBounds) {
    this.#bounds = bounds;
  }

  spendSchema(depth: number): string | undefined {
    const { maxDepth, maxSchemas } = this.#bounds;
    this.#schemas += 1;
    if (depth > maxDepth) return `is nested too deeply, expected at most ${maxDepth} levels`;
    return this.#schemas > maxSchemas
      ? `is one schema too many, expected at most ${maxSchemas} in all`
      : undefined;
  }

  spendProperties(count: number): string | undefined {
    const { maxProperties } = this.#bounds;
    const before = this.#properties;
    this.#properties += count;
    // Only the table that goes over the limit is told, not every one after it.
    if (before > maxProperties || this.#properties <= maxProperties) return undefined;
    return `has too many properties, expected at most ${maxProperties} in all`;
  }

  spendPattern(source: string): string | undefined {
    const { maxPatterns, maxPatternLength } = this.#bounds;
    this.#patterns += 1;
    if (source.length > maxPatternLength)
      return `is too long, expected at most ${maxPatternLength} characters`;
    if (this.#patterns > maxPatterns)
      return `is one pattern too many, expected at most ${maxPatterns}`;
    const fault = this.#patternFault(source);
    return fault && `${quoteValue(source)} ${fault}`;
  }

  #patternFault(source: string): string | undefined {
    const { maxPatternSize } = this.#bounds;
    if (maxPatternSize === undefined) {
      return isPattern(source) ? undefined : "is no regular expression";
    }
    const excess = `takes the patterns over ${maxPatternSize} steps a character together`;
    // Compiling is what costs, so it ends with the budget.
    if (this.#patternSize > maxPatternSize) return excess;
    const result = compileLinearRegex(source);
    if (result.kind === "fault") return result.message;
    this.#patternSize += result.regex.size;
    return this.#patternSize > maxPatternSize ? excess : undefined;
  }

  spendValues(count: number): string | undefined {
    const { maxValues } = this.#bounds;
    this.#values += count;
    return this.#values > maxValues
      ? `has too many values, expected at most ${maxValues} in all`
      : undefined;
  }

  /** Tells whether a keyword that nobody knows is passed over. */
  takesUnknown(keyword: string): boolean {
    if (!this.#bounds.isTolerant) return false;
    return !FOREIGN_KEYWORDS.has(keyword) || HARMLESS_FOREIGN.has(keyword);
  }

  spendReference(): string | undefined {
    const { maxReferences } = this.#bounds;
    this.#references += 1;
    return this.#references > maxReferences
      ? `is one reference too many, expected at most ${maxReferences}`
      : undefined;
  }
}
