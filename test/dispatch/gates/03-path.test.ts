import { describe, expect, it } from "vitest";
import { pathGate } from "../../../src/dispatch/gates/03-path.ts";
import { makeExchange } from "../../support/exchange.ts";
import { smallVocabulary } from "../../support/vocabulary.ts";

// AGTP-API §5.1, §5.2
describe("pathGate", () => {
  const gate = pathGate(smallVocabulary().names);

  it.each(["/", "/room", "/a//b", "/room;v=1", "/%20", "/booking", "/a/b/c/d/e/f", "/.", "/.."])(
    "passes %s",
    (path) => {
      expect(gate(makeExchange({ path }))).toBeUndefined();
    },
  );

  it.each([
    ["room", "room"],
    ["/room/", "/"],
    ["//room", "/"],
    ["/book", "book"],
    ["/x/B-o-O_k", "B-o-O_k"],
    ["/x/get", "get"],
    ["/frob_nicate", "frob_nicate"],
    ["/{id}", "{id}"],
    ["/%4", "%4"],
    ['/"', '"'],
  ])("answers 460 for %s, naming the segment", (path, segment) => {
    expect(gate(makeExchange({ path }))).toMatchObject({
      status: 460,
      code: "path-grammar-violation",
      carried: { segment },
    });
  });

  it("judges the paths that are served like any other", () => {
    const serving = pathGate(smallVocabulary().names, ["/room", "/book"]);
    expect(serving(makeExchange({ path: "/room" }))).toBeUndefined();
    expect(serving(makeExchange({ path: "/other" }))).toBeUndefined();
    expect(serving(makeExchange({ path: "/book" }))).toMatchObject({ status: 460 });
  });
});
