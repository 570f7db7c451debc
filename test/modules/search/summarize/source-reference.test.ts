import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ownAddress } from "../../../../src/identity/own-address.ts";
import { readSourceName } from "../../../../src/modules/search/summarize/source-reference.ts";

const isHere = ownAddress({
  ...{ serverId: "s1", domain: "inn.example", host: "::1", port: 4480 },
});
const read = (source: unknown) => readSourceName(source, isHere);
const ID = "ab".repeat(32);
const EMPTY = { method: undefined, query: undefined, input: {} };

// AGTP "SUMMARIZE"
describe("readSourceName", () => {
  it.each([
    "The barn is red.",
    "https://example.com says that the barn is red.",
    "Note: the barn is red.",
    "a/b",
    "",
    "QUERY the barn",
  ])("takes a text for what it is: %s", (text) => {
    expect(read(text)).toEqual({ kind: "inline", content: text });
  });

  it.each([{ a: 1 }, { path: "/x", note: "y" }, { method: "QUERY", path: 1 }, [], 7, null])(
    "takes a value for what it is: %j",
    (content) => {
      expect(read(content)).toEqual({ kind: "inline", content });
    },
  );

  it.each([
    "http://127.0.0.1:8080/admin",
    "HTTPS://example.com",
    " https://example.com/x \n",
    "file:///etc/passwd",
    "file:/etc/passwd",
    "data:text/plain,x",
    "ftp://example.com/x",
    "javascript:alert(1)",
    { url: "http://169.254.169.254/latest" },
    { uri: "the barn" },
    { ref: 7 },
    "agtp://elsewhere.example/rooms",
    "agtp://inn.example:4481/rooms",
    "agtp://inn.example/rooms#first",
    "agtp://someone@inn.example",
    "agtp:rooms",
    "agtp:inn.example",
    "agtp://inn.example:port/rooms",
    { method: 7, path: "/rooms" },
    { method: "QUERY", path: "/rooms", input: "x" },
  ])("refuses what it never reads: %j", (source) => {
    expect(read(source)).toMatchObject({ kind: "refused", message: expect.stringMatching(/./) });
  });

  it.each([
    ["agtp://inn.example/rooms?city=Oslo", { ...EMPTY, path: "/rooms", query: "city=Oslo" }],
    ["AGTP://Inn.Example:4480/rooms", { ...EMPTY, path: "/rooms" }],
    ["agtp://[::1]/rooms", { ...EMPTY, path: "/rooms" }],
    ["agtp:/rooms", { ...EMPTY, path: "/rooms" }],
    ["agtp://inn.example", { ...EMPTY, path: "/" }],
    [`agtp://${ID}@inn.example`, { ...EMPTY, path: `/agents/${ID}` }],
    [`agtp://${ID}`, { ...EMPTY, path: `/agents/${ID}` }],
    ["/rooms", { ...EMPTY, path: "/rooms" }],
    ["QUERY /rooms?a=b?c", { ...EMPTY, method: "QUERY", path: "/rooms", query: "a=b?c" }],
    [{ uri: "agtp:/rooms" }, { ...EMPTY, path: "/rooms" }],
    [{ path: "/rooms" }, { ...EMPTY, path: "/rooms" }],
    [
      { method: "QUERY", path: "/rooms", parameters: { city: "Oslo" } },
      { ...EMPTY, method: "QUERY", path: "/rooms", input: { city: "Oslo" } },
    ],
  ])("understands a name: %j", (source, expected) => {
    expect(read(source)).toEqual({ kind: "reference", ...expected });
  });

  it("never lets a name of another scheme pass as something to read", () => {
    const scheme = fc.stringMatching(/^[a-z][a-z0-9+.-]{0,9}$/).filter((one) => one !== "agtp");
    fc.assert(
      fc.property(scheme, fc.webUrl(), (one, url) => {
        const uri = url.replace(/^[a-z]+/, one);
        expect(read(uri).kind).toBe("refused");
      }),
    );
  });

  it("takes any value, and never fails", () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.string({ unit: "binary" })), (source) => {
        expect(["inline", "reference", "refused"]).toContain(read(source).kind);
      }),
    );
  });
});
