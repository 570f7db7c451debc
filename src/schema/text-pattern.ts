/** Patterns, in the schemas of operators and of this program, that texts from callers are matched against. */
import type { RegExpEngine } from "ajv/dist/types/index.js";
import { compileLinearRegex, type LinearRegex } from "./linear-regex.ts";

/** In texts of this length three repetitions in a row find their end soon; of more of them, in shorter ones. */
const SHORT = 128;
const MAX_STEPS = SHORT ** 3 / 6;
const REPEATS_GROUP = /\)[*+{]/;
/** An escape or a class, in which nothing repeats; or a repetition of no fixed length. */
const REPETITION = /\\.|\[(?:\\.|[^\]\\])*\]|[*+]|\{\d+,\d*\}/gs;

/** The longest text that the platform's engine may have: repetitions share it in so many ways. */
function longestNative(source: string): number {
  const repetitions = (source.match(REPETITION) ?? []).filter((one) => /^[*+{]/.test(one)).length;
  if (repetitions === 0) return Number.POSITIVE_INFINITY;
  // The engine tries a pattern without an anchor at every place.
  const ways = repetitions + (source.startsWith("^") ? 0 : 1);
  let steps = MAX_STEPS;
  for (let one = 2; one <= ways; one += 1) steps *= one;
  return Math.min(SHORT, Math.floor(steps ** (1 / ways)));
}

/**
 * A pattern of an operator's schema, matched against what callers send. The platform's engine is quick with
 * most texts, and takes time beyond all bounds where a pattern repeats a repetition or a text is long: there
 * RE2 matches, as far as it can read the pattern.   AGTP-API §13.2
 */
class TextPattern {
  readonly #native: RegExp;
  readonly #longestNative: number;
  /** Made for the first text that needs it; undefined: RE2 cannot read it. */
  #linear: { readonly regex: LinearRegex | undefined } | undefined;

  constructor(source: string, flags: string) {
    this.#native = new RegExp(source, flags);
    this.#longestNative = REPEATS_GROUP.test(source) ? -1 : longestNative(source);
  }

  test(text: string): boolean {
    const linear = text.length > this.#longestNative ? this.#makeLinear() : undefined;
    return linear === undefined ? this.#native.test(text) : linear.test(text);
  }

  /** The key that the validator tells patterns apart by. */
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

/** The engine, for the validator; its code names it. */
export const textPattern: RegExpEngine = Object.assign(
  (source: string, flags: string) => new TextPattern(source, flags),
  { code: "textPattern" },
);
