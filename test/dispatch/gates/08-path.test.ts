import { describe, expect, it } from "vitest";
import { atOnce } from "../../../src/base/paced.ts";
import { compilingPathCheck, pathGate } from "../../../src/dispatch/gates/08-path.ts";
import { createRegistry } from "../../../src/endpoint/endpoint-registry.ts";
import { makeExchange } from "../../support/exchange.ts";
import { smallVocabulary } from "../../support/vocabulary.ts";

const registryOf = (...paths: readonly string[]) =>
  createRegistry(paths.map((path) => ({ method: "QUERY", path }))).registry;

// AGTP-API §5.1, §5.2
describe("pathGate", () => {
  const gate = pathGate(atOnce(compilingPathCheck(smallVocabulary().names, registryOf())));

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
    const registry = registryOf("/room", "/book", "/{id}");
    const serving = pathGate(atOnce(compilingPathCheck(smallVocabulary().names, registry)));
    const judge = (path: string) => serving(makeExchange({ method: "QUERY", path }));
    expect(judge("/room")).toBeUndefined();
    expect(judge("/other")).toBeUndefined();
    expect(judge("/book")).toMatchObject({ status: 460 });
    expect(judge("/{id}")).toMatchObject({ status: 460 });
  });
});
