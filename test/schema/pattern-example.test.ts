import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { patternExample } from "../../src/schema/pattern-example.ts";
import { cpuMs } from "../support/cpu-time.ts";

describe("patternExample", () => {
  it.each([
    "^[A-Z]{2}-[0-9]{6}$",
    "^\\d{4}-\\d{2}$",
    "^(?:EUR|USD)$",
    "^[^a-z]+$",
    "^a(b(c|d)?)*e$",
    "^[\\w.-]+@[\\w-]+\\.[a-z]{2,}$",
    "^sha256:[0-9a-f]{64}$",
    "^\\p{L}+$",
    "^.{3,5}$",
    "[0-9]",
    "",
    "^(?<year>\\d+)$",
    "^\\+?[1-9]\\d{1,14}$",
    "^zone:[a-z-]+$",
    "^/[a-z/]*$",
  ])("gives a text that %s matches", (pattern) => {
    expect(patternExample(pattern, 0)).toMatch(new RegExp(pattern, "u"));
  });

  it("gives a text that is long enough, where it can", () => {
    expect(patternExample("^[a-z]+$", 8)).toMatch(/^[a-z]{8,}$/);
    expect(patternExample("^[a-z]{2,5}$", 4)).toMatch(/^[a-z]{4,5}$/);
    expect(patternExample("^x\\d*$", 3)).toMatch(/^x\d{2,}$/);
  });

  it.each(["^(?=a)b$", "(", "[", "a)", "\\1", "^(a", "\\", "a{9999}", "x".repeat(600)])(
    "gives nothing for %s",
    (pattern) => {
      expect(patternExample(pattern, 0)).toBeUndefined();
    },
  );

  it("throws for no pattern, and takes its time for none", () => {
    const unit = fc.constantFrom(..."ab1-()[]{}|*+?\\^$.,:<=!dwspL".split(""));
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), fc.nat(600), (pattern, minLength) => {
        const text = patternExample(pattern, minLength);
        expect(text === undefined || text.length <= 512).toBe(true);
      }),
    );
    for (const pattern of [
      "(".repeat(500),
      "((a{99}){99}){99}",
      "[".repeat(500),
      "(a|".repeat(160),
    ]) {
      const startedAt = cpuMs();
      patternExample(pattern, 512);
      expect(cpuMs() - startedAt).toBeLessThan(500);
    }
  });
});
