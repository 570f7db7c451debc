import { describe, expect, it } from "vitest";
import { isAtLeast, isVersion } from "../../../src/modules/discovery/describe-capabilities.ts";

describe("isVersion", () => {
  it.each(["1", "1.0", "1.0.0", "v2", "AGTP/1.0", "10.20.30", "1.0.0-rc.1", "1.0.0+build.7"])(
    "knows %j",
    (text) => {
      expect(isVersion(text)).toBe(true);
    },
  );

  it.each(["", "x", "1.", ".1", "1.2.3.4", "1,0", "-1", "1.0 ", "1e3", "1.0-", "AGTP/", "１"])(
    "does not know %j",
    (text) => {
      expect(isVersion(text)).toBe(false);
    },
  );

  it("takes no time over a long text", () => {
    expect(isVersion("1".repeat(100_000))).toBe(false);
    expect(isVersion(`1.0-${"a.".repeat(100_000)}`)).toBe(false);
  });
});

describe("isAtLeast", () => {
  it.each([
    ["1.0", "1.0"],
    ["1.0", "1"],
    ["1", "1.0.0"],
    ["1.10", "1.9"],
    ["2.0", "1.99.99"],
    ["v2", "AGTP/1.0"],
    ["1.0.0", "1.0.0-rc.1"],
    ["1.0.0+a", "1.0.0+b"],
  ])("%s is at least %s", (version, minimum) => {
    expect(isAtLeast(version, minimum)).toBe(true);
  });

  it.each([
    ["1.0", "1.0.1"],
    ["1.9", "1.10"],
    ["0.7", "1.0"],
    ["1.0.0-rc.1", "1.0.0"],
    ["nothing", "0.1"],
  ])("%s is older than %s", (version, minimum) => {
    expect(isAtLeast(version, minimum)).toBe(false);
  });
});
