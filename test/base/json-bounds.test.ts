import { describe, expect, it } from "vitest";
import { type JsonBounds, jsonExcess, LONG_OCTETS, scanJson } from "../../src/base/json-bounds.ts";

const BOUNDS: JsonBounds = { depth: 20, members: 3_000, values: 8_000 };

function excessOf(text: string): string | undefined {
  return jsonExcess(Buffer.from(text), BOUNDS);
}

describe("jsonExcess", () => {
  it.each([
    ["brackets", `[${"[],".repeat(8_000)}[]]`, "has more than 8000 values"],
    ["numbers", `[${"0,".repeat(8_200)}0]`, "has more than 8000 values"],
    ["members of one name", `{"a":[${'{"a":0},'.repeat(3_000)}0]}`, "has more than 3000 members"],
    ["levels", `${"[".repeat(9_000)}${"]".repeat(9_000)}`, "is nested deeper than 20 levels"],
  ])("says that there are too many %s", (_, text, fault) => {
    expect(excessOf(text)).toBe(fault);
  });

  it.each([
    ["one text, whatever is in it", JSON.stringify('[{"a":1,'.repeat(100_000))],
    ["one number", "9".repeat(100_000)],
    ["blanks", `[${" ".repeat(100_000)}]`],
    ["as many as there may be", `[${"0,".repeat(7_998)}"${"x".repeat(LONG_OCTETS)}"]`],
    ["little, which can be no more", "[[[[".repeat(LONG_OCTETS / 4)],
  ])("has nothing against %s", (_, text) => {
    expect(excessOf(text)).toBeUndefined();
  });
});

describe("jsonExcess of names", () => {
  const bounds = { ...BOUNDS, members: 100_000, values: 500_000, names: 5_000 };
  const fill = (count: number, differ: number): Buffer =>
    Buffer.from(`[${Array.from({ length: count }, (_, at) => `{"n${at % differ}":0}`).join()}]`);

  it("counts those that differ, nearly, however often each comes", () => {
    expect(jsonExcess(fill(90_000, 4_900), bounds)).toBeUndefined();
    const fault = "has more than 5000 names of members";
    expect(jsonExcess(fill(5_500, 5_500), bounds)).toBe(fault);
  });

  it("takes no text for a name that is none", () => {
    const texts = Array.from({ length: 20_000 }, (_, at) => `t${at}`);
    expect(jsonExcess(Buffer.from(JSON.stringify({ texts })), bounds)).toBeUndefined();
  });
});

describe("scanJson", () => {
  it("counts nothing beyond the level at which the octets are cut", () => {
    const deep = `${"[".repeat(30)}${"[],".repeat(9_000)}0${"]".repeat(30)}`;
    const { excess, cuts } = scanJson(Buffer.from(deep), { ...BOUNDS, cutDepth: 25 });
    expect(excess).toBe("depth");
    expect(cuts).toEqual([25, deep.length - 25]);
  });
});

describe("scanJson of lists and objects", () => {
  const all = Number.POSITIVE_INFINITY;
  const bounds: JsonBounds = { depth: 3, members: all, values: all, containers: 5 };
  it.each<[string, string | undefined]>([
    ["[[[]]]", undefined],
    ["[[[[]]]]", "depth"],
    ['{"a":{"b":{"c":1}}}', undefined],
    ['{"a":{"b":{"c":{}}}}', "depth"],
    ["[[],[],[],[]]", undefined],
    ["[[],[],[],[],[]]", "containers"],
    ["[[[[[[[", "containers"],
    ['["[[[[", "\\"[[[["]', undefined],
    ['["\\\\", [[[]]]]', "depth"],
    ['"[[[[[[[["', undefined],
    ["[0,0,0,0,0,0,0,0]", undefined],
  ])("of %s is %j", (text, expected) => {
    expect(scanJson(Buffer.from(text), bounds).excess).toBe(expected);
  });
});
