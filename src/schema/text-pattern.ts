/**
 * The patterns of operators' schemas, matched against what callers send. The platform's engine is quick
 * with most texts, and takes time beyond all bounds where a pattern repeats a repetition or a text is
 * long: there RE2 matches, as far as it can read the pattern.   AGTP-API §13.2
 */
import type { RegExpEngine } from "ajv/dist/types/index.js";
import { compileLinearRegex, type LinearRegex } from "./linear-regex.ts";

/** Of short texts even three repetitions in a row find their end soon. */
const SHORT = 128;
const REPEATS = /[*+{]/;
const REPEATS_GROUP = /\)[*+{]/;

class TextPattern {
  readonly #native: RegExp;
  readonly #repeats: boolean;
  readonly #repeatsGroup: boolean;
  /** Made for the first text that needs it; undefined: RE2 cannot read it. */
  #linear: { readonly regex: LinearRegex | undefined } | undefined;

  constructor(source: string, flags: string) {
    this.#native = new RegExp(source, flags);
    this.#repeats = REPEATS.test(source);
    this.#repeatsGroup = REPEATS_GROUP.test(source);
  }

  test(text: string): boolean {
    const isHard = this.#repeatsGroup || (this.#repeats && text.length > SHORT);
    const linear = isHard ? this.#makeLinear() : undefined;
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

/** The engine, for the validator. */
export const TEXT_PATTERNS: RegExpEngine = Object.assign(
  (source: string, flags: string) => new TextPattern(source, flags),
  { code: "textPattern" },
);
