import fc from "fast-check";
import { RE2JS } from "re2js";
import { describe, expect, it } from "vitest";
import { toRe2 } from "../../src/schema/ecma-pattern.ts";
import { compileLinearRegex, type LinearRegex } from "../../src/schema/linear-regex.ts";
import { cpuMs } from "../support/cpu-time.ts";

const LARGE = { maxSize: 5000, memoryBytes: 32_768 };

function compile(source: string, limits = LARGE): LinearRegex {
  const result = compileLinearRegex(source, limits);
  if (result.kind === "fault") throw new Error(`${source} ${result.message}`);
  return result.regex;
}

function faultOf(source: string): string | undefined {
  const result = compileLinearRegex(source);
  return result.kind === "fault" ? result.message : undefined;
}

const PATTERNS = [
  "",
  "abc",
  "^a.c$",
  "^/ratings(/[^/]+)?$",
  "^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$",
  "(a+)+$",
  "^(?:a|b)*a(?:a|b){3}$",
  "\\s",
  "\\S",
  "[\\s-]",
  "[^\\s]",
  "[\\S]",
  "[^\\S]",
  "[^\\s\\S]",
  "\\bfoo\\b",
  "\\Ba",
  "[\\b]",
  ".",
  "^.{2,3}$",
  "^[^]$",
  "[]",
  "[^a-c]",
  "[a[:]",
  "[[]",
  "[\\]\\[]",
  "a{2}|b{1,2}?|c{3,}",
  "x{0}y",
  "(?<year>\\d{4})-(?:\\d\\d)",
  "\\u00e9|\\u{1F600}|\\x41|\\cJ|\\0",
  "\\ud83d\\ude00",
  "^[\\ud83d\\ude00-\\ud83d\\ude0f]$",
  "\\p{L}+\\p{Script=Greek}",
  "[\\p{Lu}\\P{L}]$",
  "\\w\\W\\d\\D",
  "^\\/\\-\\.\\$$".replace("\\-", "[\\-]"),
  "(?:|a)*b",
  "(?:(?:|a)*|b)*$",
];

describe("compileLinearRegex", () => {
  it.each(PATTERNS)("means by %j what ECMAScript means", (source) => {
    const regex = compile(source);
    const texts = fc.string({ unit: fc.constantFrom(...CHARACTERS), maxLength: 12 });
    fc.assert(
      fc.property(fc.oneof(texts, fc.string({ unit: "binary" })), (text) => {
        expect(regex.test(text)).toBe(isMatch(source, text));
      }),
      { numRuns: 40, examples: [[""], ["😀"], ["\ud83d"], ["abc\n"], ["2024-01"]] },
    );
    expect(regex.source).toBe(source);
  });

  it("means by any pattern that both take what ECMAScript means", () => {
    fc.assert(
      fc.property(anyPattern(), fc.array(anyText(), { maxLength: 5 }), (source, texts) => {
        const result = compileLinearRegex(source, LARGE);
        if (result.kind === "fault" || !isEcmaScript(source)) return;
        for (const text of texts) expect(result.regex.test(text)).toBe(isMatch(source, text));
      }),
      { numRuns: 400 },
    );
  });

  it.each([
    ["a character class that only RE2 has", "^[[:alpha:]]+$", "abc", "a1"],
    ["a flag", "(?i)^abc$", "ABC", "AB"],
    ["a flag that makes the dot any character", "(?s)^a.b$", "a\nb", "ab"],
    ["a dash after a class", "^[\\w-.]+$", "a-.", "a b"],
    ["escapes that need none", "^\\@\\-\\#$", "@-#", "@-"],
  ])("takes %s", (_, source, matching, other) => {
    expect(compile(source).test(matching)).toBe(true);
    expect(compile(source).test(other)).toBe(false);
  });

  it.each([
    ["look-ahead", "a(?=b)", "invalid or unsupported Perl syntax: (?="],
    ["negative look-ahead", "^(?!a)", "invalid or unsupported Perl syntax: (?!"],
    ["look-behind", "a(?<=a)b", "invalid named capture: (?<=a)b"],
    ["a back reference", "(a)\\1", "invalid escape sequence: \\1"],
    ["a named back reference", "(?<a>a)\\k<a>", "invalid escape sequence: \\k"],
    ["an open group", "(", "missing closing )"],
    ["an open class", "[a", "missing closing ]"],
    ["a group closed twice", "a)", "unexpected )"],
    ["a range upside down", "[b-a]", "invalid character class range: b-a"],
    ["a lonely star", "a|*", "missing argument to repetition operator: *"],
    ["a lonely backslash", "a\\", "trailing backslash at end of expression"],
    ["a quotation", "\\Q(\\E", "invalid escape sequence: \\Q"],
    ["an unknown property", "a\\p{Nonsense}", "invalid character class range: \\p{Nonsense}"],
  ])("refuses %s", (_, source, reason) => {
    expect(faultOf(source)).toBe(`is no regular expression that RE2 can match: ${reason}`);
  });

  it.each([
    "(?:a{1000}){1000}",
    ".{1000}".repeat(36),
    "(?:.{0,1000})".repeat(19),
    "\\PL{1000}".repeat(25),
    `${"(?:".repeat(80)}a${"){2}".repeat(40)}${")".repeat(40)}`,
    "(?:a{30}|b{30}){30}".repeat(13),
    "a{999999999999999999999}",
  ])("refuses %j before it costs anything", (source) => {
    const startedAt = cpuMs();
    for (let run = 0; run < 100; run += 1) {
      expect(faultOf(source)).toMatch(/^takes [\de+]+ steps a character, expected at most 1024/);
    }
    expect(cpuMs() - startedAt).toBeLessThan(500);
  });

  it("makes no larger a program than it says", () => {
    fc.assert(
      fc.property(anyPattern(), (source) => {
        const translated = toRe2(source);
        if (translated === undefined || translated.size > 5000) return;
        const result = compileLinearRegex(source, LARGE);
        if (result.kind === "fault") return;
        const program = RE2JS.compile(translated.text);
        expect(program.programSize()).toBeLessThanOrEqual(translated.size);
      }),
      { numRuns: 400 },
    );
  });

  it("never throws for a pattern", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(..."\\[](){}^$*+?|.-:=!<>,Ppdsx01uQk\ud83da") }),
        (source) => {
          expect(() => compileLinearRegex(source)).not.toThrow();
        },
      ),
      { numRuns: 400 },
    );
  });

  it.each([
    ["(a+)+$", `${"a".repeat(50_000)}!`],
    ["^(([a-z])+.)+[A-Z]([a-z])+$", "a".repeat(50_000)],
    ["(.*a){20}$", "a".repeat(50_000)],
    ["(?:a|a)*b", "a".repeat(50_000)],
    ["(?:a|b)*a(?:a|b){60}c", "ab".repeat(25_000)],
    ["^(?:a?){60}(?:a){60}$", "a".repeat(50_000)],
  ])("matches %s in linear time", (source, text) => {
    const startedAt = cpuMs();
    expect(typeof compile(source).test(text)).toBe("boolean");
    // Backtracking would take longer than anybody waits.
    expect(cpuMs() - startedAt).toBeLessThan(2_000);
  });
});

const CHARACTERS = [..."abcxyz019-_/.: \t\n\r", ..."AZéλΛ\u00a0\u2028\ufeff\v\b\0[]😀", "\ud83d"];

function anyText(): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...CHARACTERS), maxLength: 8 });
}

/** Tries each place for itself: where a class stands before `$`, V8 14 overlooks what is beyond U+FFFF. */
function isMatch(source: string, text: string): boolean {
  const native = new RegExp(source, "uy");
  const points = [...text];
  return [...points, ""].some((_, count) => {
    native.lastIndex = points.slice(0, count).join("").length;
    return native.test(text);
  });
}

function isEcmaScript(source: string): boolean {
  try {
    new RegExp(source, "u");
    return true;
  } catch {
    return false;
  }
}

/** Patterns that are put together from whole parts, most of them valid. */
function anyPattern(): fc.Arbitrary<string> {
  const atom = fc.constantFrom(
    ...["a", "b", ".", "\\s", "\\S", "\\w", "\\D", "[ab]", "[^a\\s]", "[\\S\\n]", "[\\s-]", "[^]"],
    ...["\\p{L}", "[\\p{Lu}0]", "\\u00e9", "\\ud83d\\ude00", "😀", "\\n", "\\/", "[a-z-]", "[]"],
    ...["^", "$", "\\b", ""],
  );
  const { pattern } = fc.letrec<{ pattern: string; item: string }>((tie) => ({
    item: fc.oneof(
      { depthSize: "small" },
      atom,
      fc
        .tuple(fc.constantFrom("(", "(?:", "(?<n>"), tie("pattern"))
        .map(([opening, inner]) => `${opening}${inner})`),
      fc
        .tuple(tie("item"), fc.constantFrom("*", "+", "?", "*?", "{2}", "{0,3}", "{1,}", "{0}"))
        .map(([inner, repeat]) => `(?:${inner})${repeat}`),
    ),
    pattern: fc
      .array(tie("item"), { maxLength: 4 })
      .chain((items) => fc.constantFrom("", "|").map((glue) => items.join(glue))),
  }));
  return pattern;
}
