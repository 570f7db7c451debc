import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  compileGrants,
  covers,
  isScopeToken,
  parseAuthorityScope,
} from "../../src/identity/authority-scope.ts";
import { cpuMs } from "../support/cpu-time.ts";

const name = fc.constantFrom("booking", "room", "read", "a-b", "C_1");
const plainToken = fc.array(name, { minLength: 2, maxLength: 4 }).map((parts) => parts.join(":"));
const segment = fc.oneof({ weight: 3, arbitrary: name }, fc.constant("*"));
const token = fc.array(segment, { minLength: 2, maxLength: 4 }).map((parts) => parts.join(":"));

describe("isScopeToken", () => {
  it.each(["a:b", "booking:room:read", "*:query", "a:*", "*:*", "A-1:b_2"])("takes %s", (text) => {
    expect(isScopeToken(text)).toBe(true);
  });
  it.each(["", "a", "*", ":", "a:", ":a", "a::b", "a:b*", "a.b:c", "a:b ", "a:b\n", "ä:b"])(
    "refuses %j",
    (text) => {
      expect(isScopeToken(text)).toBe(false);
    },
  );
  it("refuses a token that is too long to be one", () => {
    expect(isScopeToken(`a:${"b".repeat(254)}`)).toBe(true);
    expect(isScopeToken(`a:${"b".repeat(255)}`)).toBe(false);
  });
});

describe("parseAuthorityScope", () => {
  it.each([
    ["a:b", ["a:b"]],
    ["a:b, c:d", ["a:b", "c:d"]],
    ["a:b,c:d", ["a:b", "c:d"]],
    ["\ta:b \t,\t c:d ", ["a:b", "c:d"]],
    ["a:b c:d", ["a:b", "c:d"]],
    ["a:b \t c:d", ["a:b", "c:d"]],
    ["", []],
    [" \t", []],
  ])("reads %j", (value, tokens) => {
    expect(parseAuthorityScope(value)).toEqual(tokens);
  });

  it.each(["a", "a:b,", ",a:b", "a:b,,c:d", "a:b c:d, e:f", "a:b;c:d", "a:b,\u00a0c:d", "a:b\n"])(
    "refuses %j",
    (value) => {
      expect(parseAuthorityScope(value)).toBeUndefined();
    },
  );

  it("bounds the number of tokens", () => {
    const list = (count: number): string => Array(count).fill("a:b").join(",");
    expect(parseAuthorityScope(list(256))).toHaveLength(256);
    expect(parseAuthorityScope(list(257))).toBeUndefined();
  });

  it("reads back what was joined, whatever the white space around the commas", () => {
    const separator = fc.constantFrom(",", ", ", " ,", "\t, \t");
    fc.assert(
      fc.property(fc.array(token, { minLength: 1, maxLength: 20 }), separator, (tokens, comma) => {
        expect(parseAuthorityScope(tokens.join(comma))).toEqual(tokens);
      }),
    );
  });

  it("gives tokens or nothing, for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (value) => {
        expect((parseAuthorityScope(value) ?? []).every(isScopeToken)).toBe(true);
      }),
    );
  });
});

describe("covers", () => {
  it.each([
    ["a:b", "a:b"],
    ["a:*", "a:b"],
    ["a:*", "a:b:c"],
    ["a:b:*", "a:b:c"],
    ["a:*:c", "a:b:c"],
    ["*:query", "documents:query"],
    ["*:*", "a:b"],
    ["*:*", "a:b:c"],
    ["a:*", "a:*"],
    ["*:*", "a:*"],
    ["a:*", "a:b:*"],
    ["a:*", "a:*:c"],
  ])("lets %s cover %s", (granted, required) => {
    expect(covers(["x:y", granted], required)).toBe(true);
  });

  it.each([
    ["a:b", "a:c"],
    ["a:b", "a:b:c"],
    ["a:b:c", "a:b"],
    ["a:*", "b:c"],
    ["a:b:*", "a:b"],
    ["a:*:c", "a:b:d"],
    ["a:*:c", "a:b"],
    ["a:*:c", "a:b:b:c"],
    ["*:query", "documents:read"],
    ["*:query", "a:documents:query"],
    ["a:b", "a:*"],
    ["*:query", "a:*"],
    ["a:*:*", "a:*"],
    ["a:b", "A:b"],
  ])("does not let %s cover %s", (granted, required) => {
    expect(covers([granted], required)).toBe(false);
  });

  it("covers nothing without grants", () => {
    fc.assert(fc.property(token, (required) => !covers([], required)));
  });

  it("lets every token cover itself", () => {
    fc.assert(fc.property(token, (scope) => covers([scope], scope)));
  });

  it("is transitive: who covers a wildcard covers whatever it covers", () => {
    fc.assert(
      fc.property(token, token, plainToken, (wide, middle, narrow) => {
        if (covers([wide], middle) && covers([middle], narrow)) {
          expect(covers([wide], narrow)).toBe(true);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("never loses by a further grant", () => {
    fc.assert(
      fc.property(fc.array(token), token, token, (granted, more, required) => {
        if (covers(granted, required)) expect(covers([...granted, more], required)).toBe(true);
      }),
    );
  });
});

/** As the text has it, without any index. */
function isAsWide(granted: readonly string[], required: readonly string[]): boolean {
  const isMet = granted.every((segment, at) => {
    return required[at] !== undefined && (segment === "*" || segment === required[at]);
  });
  return isMet && (granted.length === required.length || granted.at(-1) === "*");
}

describe("compileGrants", () => {
  it("covers what one of the grants covers, compared segment by segment", () => {
    fc.assert(
      fc.property(fc.array(token, { maxLength: 40 }), token, (granted, required) => {
        const expected = granted.some((one) => isAsWide(one.split(":"), required.split(":")));
        expect(compileGrants(granted).covers(required)).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });

  it("takes many wildcards for hardly more than a few", () => {
    const cost = (count: number): number => {
      const granted = Array.from({ length: count }, (_, at) => `space${at}:*:read`);
      const grants = compileGrants(granted);
      const startedAt = cpuMs();
      for (let at = 0; at < 20_000; at += 1) grants.covers(`other:thing${at % 50}:read`);
      return cpuMs() - startedAt;
    };
    cost(4);
    expect(cost(256)).toBeLessThan(12 * cost(4));
  });

  it("never throws, whatever is granted or required", () => {
    const any = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(fc.array(any), any, (granted, required) => {
        compileGrants(granted).covers(required);
      }),
    );
  });
});
