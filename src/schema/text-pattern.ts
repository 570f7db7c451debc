/** Patterns of operators' schemas and of this program's own, matched against texts from callers. */
import type { RegExpEngine } from "ajv/dist/types/index.js";
import { compileLinearRegex, type LinearRegex } from "./linear-regex.ts";

/** The length up to which three successive repetitions finish quickly; more of them need shorter texts. */
const SHORT = 128;
const MAX_STEPS = SHORT ** 3 / 6;
const REPEATS_GROUP = /\)[*+{]/;
/** An escape or a class, without a repetition; or a repetition of variable length. */
const REPETITION = /\\.|\[(?:\\.|[^\]\\])*\]|[*+]|\{\d+,\d*\}/gs;

/**
 * Returns the longest text for the platform's engine, whose steps grow with the ways in which
 * repetitions share it.
 */
function longestNative(source: string): number {
  const repetitions = (source.match(REPETITION) ?? []).filter((one) => /^[*+{]/.test(one)).length;
  if (repetitions === 0) return Number.POSITIVE_INFINITY;
  // The engine tries an unanchored pattern at every position.
  const ways = repetitions + (source.startsWith("^") ? 0 : 1);
  let steps = MAX_STEPS;
  for (let one = 2; one <= ways; one += 1) steps *= one;
  return Math.min(SHORT, Math.floor(steps ** (1 / ways)));
}

/**
 * A pattern of an operator's schema, matched against callers' texts. The platform's engine is fast
 * for most texts, but takes unbounded time if a pattern nests repetitions or a text is long; then
 * RE2 matches, if it supports the pattern.   AGTP-API §13.2
 */
class TextPattern {
  readonly #native: RegExp;
  readonly #longestNative: number;
  /** Compiled for the first text that needs it; its `regex` is undefined if RE2 rejects the pattern. */
  #linear: { readonly regex: LinearRegex | undefined } | undefined;

  constructor(source: string, flags: string) {
    this.#native = new RegExp(source, flags);
    this.#longestNative = REPEATS_GROUP.test(source) ? -1 : longestNative(source);
  }

  test(text: string): boolean {
    const linear = text.length > this.#longestNative ? this.#makeLinear() : undefined;
    return linear === undefined ? this.#native.test(text) : linear.test(text);
  }

  /** Returns the key by which the validator distinguishes patterns. */
  toString(): string {
    return this.#native.toString();
  }

  #makeLinear(): LinearRegex | undefined {
    if (this.#linear === undefined) {
      const result = compileLinearRegex(this.#native.source);
      this.#linear = { regex: result.kind === "regex" ? result.regex : undefined };
    }
    return this.#linear.regex;
  }
}

/** The regular expression engine for the validator, whose generated code refers to it by name. */
export const textPattern: RegExpEngine = Object.assign(
  (source: string, flags: string) => new TextPattern(source, flags),
  { code: "textPattern" },
);
