import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileGrants } from "../../../src/identity/authority-scope.ts";
import { beyond, isNarrower, readScopes } from "../../../src/modules/delegation/scopes.ts";

const held = (...scopes: readonly string[]) => ({ scopes, covers: compileGrants(scopes).covers });

// AGTP "DELEGATE": a strict subset
describe("what is handed on", () => {
  it.each([
    [["a:b"], ["a:b", "a:c"], true],
    [["a:b"], ["a:*"], true],
    [["a:*"], ["a:*", "b:c"], true],
    [[], ["a:b"], true],
    [[], [], true],
    [["a:b"], ["a:b"], false],
    [["a:*"], ["a:b", "a:c"], false],
    [["a:b", "a:c"], ["a:c", "a:b"], false],
  ])("%j of %j leaves something behind: %s", (scopes, all, is) => {
    expect(isNarrower(scopes, held(...all))).toBe(is);
  });

  it("never grows: what is beyond somebody is beyond whoever it hands on to", () => {
    const segment = fc.constantFrom("a", "b", "c", "*");
    const scope = fc.tuple(segment, segment).map((parts) => parts.join(":"));
    const scopes = fc.uniqueArray(scope, { maxLength: 5 });
    fc.assert(
      fc.property(scopes, scopes, scopes, (first, second, third) => {
        fc.pre(beyond(second, held(...first)).length === 0);
        fc.pre(beyond(third, held(...second)).length === 0);
        expect(beyond(third, held(...first))).toEqual([]);
      }),
    );
  });
});

describe("readScopes", () => {
  it.each([
    ["a:b, c:d", ["a:b", "c:d"]],
    ["", []],
    [["a:b", "a:b"], ["a:b"]],
    [[], []],
  ])("reads %j", (written, scopes) => {
    expect(readScopes(written)).toEqual(scopes);
  });

  it.each([7, null, {}, ["a"], [7], "a", Array.from({ length: 300 }, (_, at) => `a:b${at}`)])(
    "says what is wrong with %j",
    (written) => {
      expect(readScopes(written)).toMatch(/^must /);
    },
  );
});
