import { describe, expect, it } from "vitest";
import { parseToml, toJson } from "../../src/base/toml-document.ts";

describe("a TOML document", () => {
  it.each([
    ["a = 2026-02-29", "line 1, column 5"],
    ["b = 1\na = 2100-02-29T00:00:00Z", "line 2, column 5"],
    ["a = [2024-02-29, 2026-11-31 10:00:00]", "line 1, column 18"],
  ])("with a day that its month does not have is none: %j", (text, place) => {
    expect(parseToml(text).fault).toContain(`is not TOML: ${place}`);
    expect(parseToml(text).fault).toContain("invalid date");
  });

  it("may have such a day in its words", () => {
    const { table } = parseToml('a = 2024-02-29 # 2026-02-29\n2026-02-30 = "2026-04-31"\n');
    expect(toJson(table)).toEqual({ a: "2024-02-29", "2026-02-30": "2026-04-31" });
  });

  it.each(["a = 1\na = 2", "[a]\n[a]", "a = 9007199254740993", 'a = "\\x"', "a = 01", "a"])(
    "says where %j is none",
    (text) => {
      expect(parseToml(text).fault).toMatch(/^is not TOML: line \d+, column \d+/);
    },
  );
});
