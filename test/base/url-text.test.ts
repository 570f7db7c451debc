import { describe, expect, it } from "vitest";
import { parseUrl, withoutEndSlashes } from "../../src/base/url-text.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { growthOf, NEARLY_LINEAR } from "../support/growth.ts";

describe("parseUrl", () => {
  it.each([
    ["https://example.com:8443/a?b#c", "example.com:8443"],
    ["http://中国.example/", "xn--fiqs8s.example"],
    [`https://example.com/${"a".repeat(5000)}`, "example.com"],
    [`data:,${"a".repeat(5000)}`, ""],
  ])("reads %.40s", (text, host) => {
    expect(parseUrl(text)?.host).toBe(host);
  });

  it.each(["", "example.com", "http://", "http://[::1%25eth0]/"])(
    "knows that %j is none",
    (text) => {
      expect(parseUrl(text)).toBeUndefined();
    },
  );

  it("reads a long host no longer than a long path", () => {
    const CJK = Array.from({ length: 20_000 }, (_, at) => String.fromCodePoint(0x4e00 + at)).join(
      "",
    );
    const read = (url: string): number => {
      const before = cpuMs();
      for (let times = 0; times < 5; times += 1) parseUrl(url);
      return cpuMs() - before;
    };
    const path = read(`http://example.com/${CJK}`);
    const hosts = [`http://${CJK}/`, `HTTP:${CJK}`, ` h\tttps:\n//\\${CJK}`, `ws://a@${CJK}`];
    const escaped = `http://${encodeURIComponent(CJK)}`;
    for (const host of [...hosts, escaped]) expect(read(host)).toBeLessThan(20 * path);
  });
});

describe("withoutEndSlashes", () => {
  it.each([
    ["https://example.com//", "https://example.com"],
    ["https://example.com//a/b", "https://example.com//a/b"],
    ["///", ""],
    ["", ""],
  ])("makes %j %j", (url, expected) => {
    expect(withoutEndSlashes(url)).toBe(expected);
  });

  it("passes over slashes before the end in proportion", async () => {
    const cut = (size: number): unknown => withoutEndSlashes(`https://a${"/".repeat(size)}b`);
    expect(await growthOf(cut, 8_000)).toBeLessThan(NEARLY_LINEAR);
  });
});
