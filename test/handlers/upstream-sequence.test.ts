import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinTexts, readEvents } from "../../src/handlers/upstream-sequence.ts";

function join(text: string): string | undefined {
  return joinTexts(Buffer.from(text)).list?.toString();
}

describe("joinTexts", () => {
  it.each([
    ["lines", '{"a":1}\n{"a":2}\n', '[{"a":1},{"a":2}]'],
    ["lines of Windows, the last without an end", "1\r\n\r\n2", "[1\r,2]"],
    ["blank lines alone", "\n \r\n\n", "[]"],
    ["nothing", "", "[]"],
    // RFC 7464 §2.2
    ["a text sequence", '\x1e{"a":\n1}\n\x1e[]\n', '[{"a":\n1}\n,[]\n]'],
    ["one with separators in a row", "\x1e\x1e1\n\x1e", "[1\n]"],
  ])("makes a list of %s", (_, text, list) => {
    expect(join(text)).toBe(list);
    expect(Array.isArray(JSON.parse(list))).toBe(true);
  });

  it.each([
    ["a line that is two", "1,2", "has a line that is not JSON"],
    ["one value on two lines", '{"a":[1\n2]}', "has a line that is not JSON"],
    ["lines that only look like a list together", "1]\n[2", "has a line that is not JSON"],
    ["a line that is cut off", '{"a":1}\n{"a"', "has a line that is not JSON"],
    ["another item of a text sequence", "\x1e1,2\n", "has an item that is not JSON"],
    // RFC 7464 §2.4
    ["a number that may have been longer", "\x1e1\n\x1e12", "ends within an item"],
  ])("refuses %s", (_, text, fault) => {
    expect(joinTexts(Buffer.from(text))).toEqual({ fault });
  });

  it("gives back whatever values were written, one a line or marked", () => {
    const property = fc.property(fc.array(fc.jsonValue()), (values) => {
      const texts = values.map((value) => JSON.stringify(value));
      const list: unknown = texts.map((text) => JSON.parse(text));
      expect(JSON.parse(join(texts.join("\n")) ?? "")).toEqual(list);
      expect(JSON.parse(join(texts.map((text) => `\x1e${text}\n`).join("")) ?? "")).toEqual(list);
    });
    fc.assert(property);
  });
});

// HTML "Interpreting an event stream"
describe("readEvents", () => {
  it.each([
    ["data", "data: a\n\ndata:b\n\n", [{ data: "a" }, { data: "b" }]],
    ["several lines", "data: a\ndata\ndata:  b\n\n", [{ data: "a\n\n b" }]],
    [
      "other fields, comments and none",
      "id: 7\nevent: up\n: note\nretry: 250\nretry: soon\nx: y\ndata: {}\n\n",
      [{ id: "7", event: "up", retry: 250, data: "{}" }],
    ],
    ["other ends of lines", "data: a\r\rdata: b\r\n\r\n", [{ data: "a" }, { data: "b" }]],
    ["an event without data", "event: ping\n\nid: 1\ndata\n\n", [{ id: "1", data: "" }]],
    ["an event that nothing ends", "data: a\n\ndata: b\n", [{ data: "a" }]],
    ["nothing", "", []],
  ])("reads %s", (_, text, list) => {
    expect(readEvents(text)).toEqual({ list });
  });

  it("refuses more than anybody is given", () => {
    const { fault } = readEvents("data\n\n".repeat(1_000_001));
    expect(fault).toBe("has more than 1000000 members");
  });
});
