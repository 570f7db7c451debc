import { describe, expect, it } from "vitest";
import { grantDuration, readDuration } from "../../src/base/duration.ts";

// AGTP "PROPOSE"
describe("readDuration", () => {
  it.each([
    [3600, 3600],
    ["90s", 90],
    ["24h", 86_400],
    ["7d", 604_800],
    ["2W", 1_209_600],
    ["P7D", 604_800],
    ["PT36H", 129_600],
    ["P1DT1H1M1S", 90_061],
  ])("takes %j for %d seconds", (written, seconds) => {
    expect(readDuration(written)).toBe(seconds);
  });

  it.each([
    0,
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    "",
    "0h",
    "P",
    "PT",
    "soon",
    "1y",
    "1h30",
    {},
  ])("takes %j for none", (written) => {
    expect(readDuration(written)).toBeUndefined();
  });
});

describe("grantDuration", () => {
  const limits = { usual: 100, most: 1000 };

  it("grants what is asked for, within what is granted to anybody", () => {
    expect(grantDuration(50, limits)).toBe(50);
    expect(grantDuration(5000, limits)).toBe(1000);
    expect(grantDuration(undefined, limits)).toBe(100);
    expect(grantDuration(12.7, limits)).toBe(12);
    expect(grantDuration(0.2, limits)).toBe(1);
  });
});
