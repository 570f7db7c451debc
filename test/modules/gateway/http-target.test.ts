import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTarget } from "../../../src/modules/gateway/http-target.ts";
import { isWireFault } from "../../../src/wire/message-parser.ts";

const LIMIT = 8192;

// RFC 9112 §3.2
describe("readTarget", () => {
  it.each([
    ["/", "/", undefined],
    ["/orders/7?quantity=2", "/orders/7", "quantity=2"],
    ["/orders?", "/orders", ""],
    ["/a?b?c", "/a", "b?c"],
    ["/a%2Fb/../%00", "/a%2Fb/../%00", undefined],
    ["http://host:8080/orders?x=1", "/orders", "x=1"],
    ["HTTPS://host", "/", undefined],
    ["http://host?x=1", "/", "x=1"],
    ["//host/path", "//host/path", undefined],
    ["*", "*", undefined],
  ])("takes %s apart", (target, path, query) => {
    expect(readTarget(target, LIMIT)).toEqual({ path, query });
  });

  it.each(["/a#b", "/a b", "/é", "/a\u0000", "/a\u007f"])("refuses %j", (target) => {
    expect(readTarget(target, LIMIT)).toMatchObject({ code: "invalid-request-line" });
  });

  it("refuses what is longer than a request line may be", () => {
    expect(readTarget(`/${"a".repeat(99)}`, 100)).toHaveProperty("path");
    expect(readTarget(`/${"a".repeat(100)}`, 100)).toMatchObject({ code: "request-line-too-long" });
  });

  it("loses nothing of a path and a query", () => {
    const text = fc.string({ unit: fc.constantFrom(..."abc/.%2F&=+:@~") });
    fc.assert(
      fc.property(text, text, (path, query) => {
        const read = readTarget(`/${path}?${query}`, LIMIT);
        expect(isWireFault(read) || `${read.path}?${read.query}`).toBe(`/${path}?${query}`);
      }),
    );
  });
});
