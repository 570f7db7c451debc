/**
 * The bounds of a schema: its size and its content. Proposed schemas have tighter bounds than those
 * in an operator's files.
 */
import { quoteValue } from "../base/json-value.ts";
import { compileLinearRegex } from "./linear-regex.ts";
import { FOREIGN_KEYWORDS, HARMLESS_FOREIGN, isPattern } from "./schema-vocabulary.ts";

/** The bounds of a schema. */
export interface SchemaBounds {
  /** The maximum length of its JSON text. */
  readonly maxLength: number;
  /** The maximum nesting of schemas. */
  readonly maxDepth: number;
  /** The maximum number of subschemas. */
  readonly maxSchemas: number;
  /** The maximum number of members of `properties`, in all. */
  readonly maxProperties: number;
  readonly maxPatterns: number;
  readonly maxPatternLength: number;
  readonly maxReferences: number;
  /** The maximum number of `enum` values, in all. */
  readonly maxValues: number;
  /** The maximum number of times that a value is checked, through branches and references. */
  readonly maxJudgements: number;
  /** The maximum number of checks of all subschemas together. */
  readonly maxJudgementsInAll: number;
  /**
   * The maximum number of steps per character under all patterns together, which RE2 then matches;
   * absent if the engines of `schema.ts` match them.
   */
  readonly maxPatternSize?: number;
  /**
   * True if unknown or ineffective keywords are ignored: in a file they are the author's error, in
   * a proposal JSON Schema defines them as annotations.
   */
  readonly isTolerant: boolean;
  /** True if an undefined format is the author's own annotation; otherwise it is an error. */
  readonly takesForeignFormats?: boolean;
}

/** The bounds of schemas in an operator's files. */
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

/** The bounds of a caller's proposed schemas. */
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

/**
 * The bounds of an agent's schema, which follows a proposal's rules but may be larger, since it
 * describes whole conversations.
 */
export const AGENT_SCHEMA_BOUNDS: SchemaBounds = {
  ...PROPOSED_SCHEMA_BOUNDS,
  maxLength: 262_144,
  maxDepth: 24,
  maxSchemas: 8192,
  maxProperties: 2048,
  maxPatterns: 64,
  maxValues: 8192,
};

/** Counts a schema's use of its bounds; each method returns a fault when a bound is exceeded. */
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
    // Only the table that exceeds the limit is reported, not each later one.
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
    // Compilation is the expensive part, so it stops when the budget is exceeded.
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

  /** Tells whether an unknown keyword is ignored. */
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
