import { describe, expect, it } from "vitest";
import { decodeExactUtf8, decodeUtf8 } from "../../src/base/utf8.ts";

const MARKED = Buffer.from([0xef, 0xbb, 0xbf, 0x61]);
const TORN = Buffer.from([0x61, 0xc3]);

describe("decodeUtf8", () => {
  it("drops a byte order mark", () => {
    expect(decodeUtf8(MARKED)).toBe("a");
  });

  it("has no text for other octets, and goes on with the next", () => {
    expect(decodeUtf8(TORN)).toBeUndefined();
    expect(decodeUtf8(Buffer.from("ä"))).toBe("ä");
  });
});

describe("decodeExactUtf8", () => {
  it("keeps a byte order mark", () => {
    expect(decodeExactUtf8(MARKED)).toBe("\ufeffa");
  });

  it("has no text for other octets", () => {
    expect(decodeExactUtf8(TORN)).toBeUndefined();
  });
});
