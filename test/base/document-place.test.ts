import { describe, expect, it } from "vitest";
import { type DocumentPlace, documentAt } from "../../src/base/document-place.ts";
import { JSON_STYLE, TOML_STYLE } from "../../src/base/document-style.ts";
import { formatProblem, type Problem } from "../../src/base/problem.ts";

const GENERATED = { ...JSON_STYLE, isNullAbsent: true, quotesWords: true, longestText: 4 };

/** What reading a value says, a line for each problem. */
function problemsOf(
  value: unknown,
  read: (root: DocumentPlace) => unknown,
  style = TOML_STYLE,
): readonly string[] {
  const problems: Problem[] = [];
  read(documentAt(value, { file: "f", key: "" }, problems, { style }));
  return problems.map((problem) => formatProblem(problem).replace("f: ", ""));
}

describe("a place in a document", () => {
  it.each<[string, unknown, (place: DocumentPlace) => unknown, string]>([
    ["a text", " ", (place) => place.text(), 'a: is " ", expected a text'],
    ["a flag", 1, (place) => place.flag(), "a: is 1, expected true or false"],
    ["a number", 3, (place) => place.number(0, 1), "a: is 3, expected a number from 0 to 1"],
    [
      "a word",
      "ont",
      (place) => place.word(["one", "two"]),
      'a: is "ont", expected one of one, two (did you mean one?)',
    ],
    ["a table", [], (place) => place.record(), "a: is an array, expected a table"],
    ["a date", new Date(0), (place) => place.record(), "a: is a date, expected a table"],
    [
      "tables",
      {},
      (place) => place.records(),
      "a: is a table, expected an array of tables, as in [[a]]",
    ],
    ["one table too many", [{}, {}], (place) => place.records({ most: 1 }), "a: has 2 items"],
    ["a text twice", ["x", "x"], (place) => place.texts(), 'a[1]: is "x" a second time'],
    ["what is not there", undefined, (place) => place.text(), "a: is missing, expected a text"],
  ])("says what was expected instead of %s", (_, a, read, message) => {
    expect(problemsOf({ a }, (root) => read(root.at("a"))).join("\n")).toContain(message);
  });

  it("names places and values as documents of its kind do", () => {
    const read = (root: DocumentPlace): unknown => root.at("a/b").records()[0]?.at("c").word(["d"]);
    expect(problemsOf({ "a/b": [{ c: "other" }] }, read)).toEqual([
      '"a/b"[0].c: is "other", expected one of d',
    ]);
    expect(problemsOf({ "a/b": [{ c: "other" }] }, read, GENERATED)).toEqual([
      '/a~1b/0/c: is "other", expected one of "d"',
    ]);
    expect(problemsOf({ a: "12345" }, (root) => root.at("a").text(), GENERATED)).toEqual([
      "/a: is too long, expected a text",
    ]);
  });

  it("reads a member under whichever of its names it is there, and null as its document means it", () => {
    const read = (root: DocumentPlace): unknown => root.at(["new", "old"]).text();
    expect(problemsOf({ new: null, old: 1 }, read, GENERATED)[0]).toMatch(/^\/old: is 1/);
    expect(problemsOf({ new: null, old: 1 }, read, JSON_STYLE)[0]).toMatch(/^\/new: is null/);
    expect(problemsOf({}, read, JSON_STYLE)[0]).toMatch(/^\/new: is missing/);
  });

  it("sees own members only", () => {
    expect(documentAt({}, { file: "f", key: "" }, []).at("constructor").value).toBeUndefined();
  });

  it("passes over what is absent and was optional, and keeps what is sound", () => {
    const problems: Problem[] = [];
    const root = documentAt({ list: ["x", 1, "y"] }, { file: "f", key: "" }, problems);
    expect(root.at("none").optional?.text()).toBeUndefined();
    expect(root.at("list").texts()).toEqual(["x", "y"]);
    expect(problems.map(({ key }) => key)).toEqual(["list[1]"]);
  });

  it("stops at two hundred unknown keys, with the closest known one for each", () => {
    const keys = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`nme${at}`, 1]));
    const problems = problemsOf(keys, (root) => root.record(["name"]));
    expect(problems).toHaveLength(200);
    expect(problems[0]).toContain("nme0: unknown key");
    expect(problemsOf({ nmae: 1 }, (root) => root.record(["name"]))).toEqual([
      "nmae: unknown key (did you mean name?)",
    ]);
  });

  it("warns without failing, and judges a part by another clause", () => {
    const problems: Problem[] = [];
    const place = documentAt({ a: 1 }, { file: "f", key: "" }, problems).at("a").under("8.3");
    place.warn("is odd", "look");
    place.failBelow("/b", "is wrong");
    expect(place.clause).toBe("8.3");
    expect(problems).toEqual([
      { file: "f", key: "a", message: "is odd", hint: "look", severity: "warning" },
      { file: "f", key: "a/b", message: "is wrong" },
    ]);
  });
});
