/** Names that a query repeats, where the endpoint takes a list. */
import { describe, expect, it } from "vitest";
import { inputShape } from "../../../src/endpoint/input-shape.ts";
import { splitQuery } from "../../../src/modules/gateway/http-entrance.ts";

const list = (items: object): object => ({ type: "array", items });
const SHAPE = inputShape({
  type: "object",
  properties: {
    ...{ tags: list({ type: "string" }), ids: { $ref: "#/$defs/ids" }, n: { type: "integer" } },
    ...{ either: { type: ["array", "string"] }, flags: list({ type: ["boolean", "null"] }) },
    ...{ "a b": list({}), maybe: { type: ["array", "null"], items: { type: "number" } } },
  },
  $defs: { ids: list({ $ref: "#/$defs/id" }), id: { type: "integer" } },
});

// AGTP-API §5.5
describe("a query", () => {
  it.each([
    ["tags=a&tags=b", "", { tags: ["a", "b"] }],
    ["tags=1", "", { tags: ["1"] }],
    ["tags", "", { tags: [""] }],
    ["ids=1&n=2&ids=x", "n=2", { ids: [1, "x"] }],
    ["flags=true&maybe=1.5", "", { flags: [true], maybe: [1.5] }],
    ["a%20b=%C3%A4&n=%31", "n=%31", { "a b": ["ä"] }],
  ])("%s has lists", (query, rest, lists) => {
    expect(splitQuery(query, SHAPE)).toEqual({ rest, lists });
  });

  it.each(["n=1&n=2", "either=a&either=b", "", "__proto__=1", "tags=%zz", "%zz=1"])(
    "%s is left as it is",
    (query) => {
      expect(splitQuery(query, SHAPE)).toBeUndefined();
    },
  );
});
