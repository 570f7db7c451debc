/** How large a schema may be; schemas that callers propose have tighter bounds than files. */

/** How large a schema may be. */
export interface SchemaBounds {
  /** Characters of its JSON text. */
  readonly maxLength: number;
  /** Schemas inside schemas. */
  readonly maxDepth: number;
  /** Members of `properties` in all. */
  readonly maxProperties: number;
  readonly maxPatterns: number;
  readonly maxPatternLength: number;
  readonly maxReferences: number;
}

/** What an operator's own files may hold. */
export const OPERATOR_SCHEMA_BOUNDS: SchemaBounds = {
  maxLength: 262_144,
  maxDepth: 32,
  maxProperties: 2048,
  maxPatterns: 256,
  maxPatternLength: 1024,
  maxReferences: 256,
};

/** Counts what a schema uses up; each method answers with a fault once there is too much of it. */
export class SchemaBudget {
  readonly #bounds: SchemaBounds;
  #properties = 0;
  #patterns = 0;
  #references = 0;

  constructor(bounds: SchemaBounds) {
    this.#bounds = bounds;
  }

  spendDepth(depth: number): string | undefined {
    const { maxDepth } = this.#bounds;
    return depth > maxDepth
      ? `is nested too deeply, expected at most ${maxDepth} levels`
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

  spendPattern(length: number): string | undefined {
    const { maxPatterns, maxPatternLength } = this.#bounds;
    this.#patterns += 1;
    if (length > maxPatternLength)
      return `is too long, expected at most ${maxPatternLength} characters`;
    return this.#patterns > maxPatterns
      ? `is one pattern too many, expected at most ${maxPatterns}`
      : undefined;
  }

  spendReference(): string | undefined {
    const { maxReferences } = this.#bounds;
    this.#references += 1;
    return this.#references > maxReferences
      ? `is one reference too many, expected at most ${maxReferences}`
      : undefined;
  }
}
