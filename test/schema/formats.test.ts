import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CompiledSchema } from "../../src/schema/compiled-schema.ts";
import { compileFormatTest, FORMATS } from "../../src/schema/keywords-and-formats.ts";
import { meteredSchema } from "../../src/schema/metered-schema.ts";
import { createSchemaCompiler } from "../../src/schema/schema.ts";
import { cpuMs } from "../support/cpu-time.ts";

/** The generated judge and the interpreter. */
function judgesOf(format: string): readonly CompiledSchema[] {
  const schema = { format };
  const { compiled } = createSchemaCompiler().compile(schema, { file: "x", key: "" });
  if (compiled === undefined) throw new Error(`${format} is no known format`);
  return [compiled, meteredSchema(schema)];
}

/** The verdicts of both judges, of which the first is asked in both its ways. */
function verdicts(format: string, value: unknown): readonly boolean[] {
  return judgesOf(format).flatMap((judge) => [
    judge.check(value) === undefined,
    judge.check(value, true) === undefined,
  ]);
}

describe("a format", () => {
  it.each([
    ["duration", "P1Y2M3DT4H5M6S"],
    ["duration", "PT0S"],
    ["duration", "P2W"],
    ["email", '"joe bloggs"@example.com'],
    ["email", '"joe@\\"bloggs"@example.com'],
    ["email", "joe@[127.0.0.1]"],
    ["email", "joe@[IPv6:::1]"],
    ["email", "joe@xn--fiqs8s.example"],
    ["hostname", "xn--ll-0ea.example"],
    ["hostname", "xn--k8j5u"],
    ["uri", "http://[v1.a]:80/?a#b"],
    ["uri", "urn:a:b"],
    ["uri", "http:"],
    ["uri-reference", ""],
    ["uri-reference", "./1:b"],
    ["iri", "http://ƒøø.ßår/?∂éœ=πîx#πîüx"],
    ["iri-reference", "âππ"],
    ["uri-template", "{a.b}'{+c:30,d*}é"],
    ["json-pointer", "/~0~1"],
    ["relative-json-pointer", "10#"],
    ["regex", "^\\p{L}+$"],
    ["byte", "YWI="],
    ["int64", -(2 ** 63)],
    ["iso-date-time", "2026-11-29 14:00:00+02"],
    ["iso-time", "14:00:00"],
  ])("%s has %j", (format, value) => {
    expect(verdicts(format, value)).toEqual([true, true, true, true]);
  });

  it.each([
    ["duration", "P1Y2D"],
    ["duration", "PT1H2S"],
    ["duration", "PT"],
    ["duration", "P1DT"],
    ["duration", "P1W1D"],
    ["email", "joe@localhost"],
    ["email", '"joe"bloggs@example.com'],
    ["email", "joe@[IPv6:::1%eth0]"],
    ["email", "joe@[127.0.0.1"],
    ["email", "joe..bloggs@example.com"],
    ["hostname", "example."],
    ["hostname", "xn--X"],
    ["hostname", "xn--example-"],
    ["hostname", "xn--l-gda"],
    ["hostname", "xn--vek"],
    ["hostname", "ab--c"],
    ["uri", "http://example.com:abc/"],
    ["uri", "http://[::ffff:01.2.3.4]"],
    ["uri", "http:/[::1]"],
    ["uri", "http://[::1%25eth0]/"],
    ["uri", "a/b:c"],
    ["uri-reference", '/a"b'],
    ["uri-reference", "//a@b@example.com/"],
    ["uri-reference", "1:b"],
    ["uri-reference", "%4"],
    ["iri", "/abc"],
    ["iri", "http://ƒøø.ßår/\n"],
    ["iri", "http://a/\ue000"],
    ["iri-reference", "\\\\WINDOWS\\filëßåré"],
    ["iri-reference", "\ud800"],
    ["uri-template", "a\u007fb"],
    ["uri-template", "{a..b}"],
    ["uri-template", "{}"],
    ["uri-template", "{a"],
    ["uri-template", "a}"],
    ["json-pointer", "a"],
    ["json-pointer", "/~2"],
    ["relative-json-pointer", "01/a"],
    ["regex", "\\a"],
    ["url", `http://${"\u4e2d".repeat(3000)}/`],
    ["byte", "***\n"],
    ["byte", "YWI"],
    ["int64", 2 ** 63],
    ["iso-date-time", "2026-11-29T14:00:00+2"],
  ])("%s refuses %j", (format, value) => {
    expect(verdicts(format, value)).toEqual([false, false, false, false]);
  });

  it("has one verdict from both judges on what is nearly one", () => {
    const near = [
      ...["2024-02-29", "T23:59:60Z", "+02:00", "P1Y", "PT1H", "joe", "@", '"a b"', "example.com"],
      ...["xn--ll-0ea", "http:", "//", "[::1]", "::ffff:1.2.3.4", ":80", "/a", "?q", "#", "%41"],
      ...["~0", "{a,b*}", "{+c:3}", "0", "é", "\u{10000}", "\ud800", ".", "-", "\n", "AA=="],
      "00000000-0000-4000-8000-000000000000",
    ];
    const text = fc
      .array(fc.oneof(fc.constantFrom(...near), fc.string({ maxLength: 2 })), { maxLength: 5 })
      .map((parts) => parts.join(""));
    const judges = Array.from(FORMATS.keys(), judgesOf);
    const seen = new Set<string>();
    fc.assert(
      fc.property(text, (value) => {
        for (const [at, [first, second]] of judges.entries()) {
          const isValid = first?.check(value) === undefined;
          expect(second?.check(value) === undefined).toBe(isValid);
          seen.add(`${at} ${isValid}`);
        }
      }),
      { numRuns: 1000 },
    );
    expect(seen.size).toBeGreaterThan(judges.length * 1.25);
  });

  const HOSTILE = [
    ...["a", "a.", "a-", "a:", "/", "/a", "//:", "1", "1.", ":", "%41", "{a", "a,", "~0", "AAAA"],
    ...["t", "2026-01-01T", "(", "a|", "a{1,2}", "\\", '"', "@", "[", "é", "xn--"],
  ];
  const STARTS = ["", "http://", "/", "#/", '"', "{", "P1", "0", "2026-01-01T00:00:00."];

  it("takes time in proportion to a hostile text", { timeout: 300_000 }, () => {
    const tests = Array.from(FORMATS.values(), compileFormatTest);
    const judgeAll = (length: number): number => {
      const before = cpuMs();
      for (const start of STARTS) {
        for (const piece of HOSTILE) {
          const text = start + piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
          for (const end of ["\n", "a.de"]) for (const test of tests) test?.(text + end);
        }
      }
      return cpuMs() - before;
    };
    judgeAll(2000);
    expect(judgeAll(40_000)).toBeLessThan(8 * judgeAll(10_000));
  });

  it("says the same of a text that would fill a stack", () => {
    const violation = { path: "", keyword: "format", message: 'must match format "email"' };
    const [generated] = judgesOf("email");
    expect(generated?.check(`${"a.".repeat(4_000_000)}@a.de`)).toEqual([violation]);
  });
});
