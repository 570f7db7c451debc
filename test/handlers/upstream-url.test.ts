import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkUrlInput,
  fillUrl,
  parseUpstreamUrl,
  type UpstreamUrl,
} from "../../src/handlers/upstream-url.ts";

function parse(url: string): UpstreamUrl {
  const parsed = parseUpstreamUrl(url);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

// AGTP-API §12.3: "The URL MUST use the https:// scheme."
describe("parseUpstreamUrl", () => {
  it.each([
    "http://api.example/",
    "HTTP://api.example/",
    "//api.example/",
    "ftp://api.example/",
    "https://",
    "https:///path",
    "https://{host}/path",
    "https://{tenant}.api.example/path",
    "https://user:password@api.example/",
    "https://api.example/#part",
    "https://api.example:99999/",
    "https://api.example/a/{b",
    "https://api.example/a/b}",
    "https://api.example/{a/b}",
    "https://api.example/{}",
    "https://api.example/a/../b",
    "https://api.example/a/%2e%2E/b",
    "",
  ])("refuses %j", (url) => {
    expect(parseUpstreamUrl(url)).toBeTypeOf("string");
  });

  it("never quotes a password", () => {
    expect(parseUpstreamUrl("https://user:hunter2@api.example/")).not.toMatch("hunter2");
  });

  it("takes origin, path and query apart", () => {
    const url = parse("https://API.example:443/v1/{a}/x-{b}?c={c}&a={a}");
    expect(url.origin).toBe("https://api.example");
    expect(url.parameters).toEqual(["a", "b", "c"]);
  });
});

describe("fillUrl", () => {
  it.each([
    ["https://h.example", {}, "/"],
    ["https://h.example/", {}, "/"],
    ["https://h.example/a/{b}/c", { b: 7 }, "/a/7/c"],
    ["https://h.example/{b}.json", { b: true }, "/true.json"],
    ["https://h.example/{b}", { b: "a/b?c#d e%f" }, "/a%2Fb%3Fc%23d%20e%25f"],
    ["https://h.example/{b}", { b: "%2e%2e" }, "/%252e%252e"],
    ["https://h.example/{b}", { b: "ü" }, "/%C3%BC"],
    ["https://h.example/zürich raum", {}, "/z%C3%BCrich%20raum"],
    ["https://h.example/x?a={b}&c=1", { b: "1&c=2" }, "/x?a=1%26c%3D2&c=1"],
  ])("fills %s", (url, input, path) => {
    expect(checkUrlInput(parse(url), input)).toBeUndefined();
    expect(fillUrl(parse(url), input, {})).toBe(path);
  });

  it("lets no value add, leave or climb a segment", () => {
    const url = parse("https://h.example/v1/{a}/x{b}{a}/{c}?q={b}");
    const value = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(".", "..", "/", "%2e"));
    fc.assert(
      fc.property(value, value, value, (a, b, c) => {
        if (checkUrlInput(url, { a, b, c }) !== undefined) return;
        const filled = fillUrl(url, { a, b, c }, {});
        expect(filled).toMatch(/^\/v1\/[^/?#]+\/x[^/?#]+\/[^/?#]+\?q=[^&?#]*$/);
        expect(new URL(filled, "https://h.example").pathname).toBe(filled.split("?")[0]);
      }),
    );
  });
});

// A path value that is "." or "..", or no scalar, is a 422.
describe("checkUrlInput", () => {
  const url = parse("https://h.example/v1/{id}");

  it.each([
    [{}, "required"],
    [{ id: null }, "type"],
    [{ id: {} }, "type"],
    [{ id: ["a"] }, "type"],
    [{ id: "" }, "minLength"],
    [{ id: "." }, "not"],
    [{ id: ".." }, "not"],
    [{ id: "a\ud800" }, "format"],
  ])("refuses %j", (input, keyword) => {
    expect(checkUrlInput(url, input)).toMatchObject([{ path: "/id", keyword }]);
  });

  it("refuses values that are dots only together", () => {
    const dotted = parse("https://h.example/{a}{b}");
    expect(checkUrlInput(dotted, { a: ".", b: "x" })).toHaveLength(1);
    expect(checkUrlInput(parse("https://h.example/.{a}"), { a: "x" })).toBeUndefined();
  });

  it.each([
    ["%2{a}", { a: "e" }, ["/a"]],
    ["%{a}", { a: "2E" }, ["/a"]],
    ["%2e%{a}{b}", { a: "2", b: "e" }, ["/a", "/b"]],
  ])(
    "refuses values that make dots of %s, where a server decodes them",
    (segment, input, paths) => {
      const url = parse(`https://h.example/v1/${segment}/x`);
      expect(checkUrlInput(url, input)).toEqual(
        paths.map((path) => ({ path, keyword: "not", message: 'must not make "." or ".."' })),
      );
      expect(checkUrlInput(url, { a: "f", b: "f" })).toBeUndefined();
    },
  );

  it.each(["../../admin", "a/..", "a/./b", "..\\admin", "a\\../b", "/..", "a/../b/c"])(
    "refuses %j, which climbs at a proxy that takes an encoded slash for one",
    (id) => {
      expect(checkUrlInput(url, { id })).toEqual([
        { path: "/id", keyword: "not", message: 'must not make "." or ".."' },
      ]);
      expect(checkUrlInput(parse("https://h.example/x?id={id}"), { id })).toBeUndefined();
    },
  );

  it.each(["a/b", "a..b/c", ".../x", "v1./.x", "a/..b", "%2e%2e/x"])("admits %j", (id) => {
    expect(checkUrlInput(url, { id })).toBeUndefined();
  });

  it("takes no inherited property for input", () => {
    const inherited = parse("https://h.example/{constructor}");
    expect(checkUrlInput(inherited, {})).toMatchObject([{ keyword: "required" }]);
  });

  it("escapes names in its pointers", () => {
    expect(checkUrlInput(parse("https://h.example/{a~b}"), {})?.[0]?.path).toBe("/a~0b");
  });
});
