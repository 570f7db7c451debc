import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { networkOf, socketAddress } from "../../src/base/addresses.ts";

describe("the address of a local socket", () => {
  it("is its path, or the way there where that is shorter", () => {
    expect(socketAddress("/run/a.sock")).toBe("/run/a.sock");
    const below = join(process.cwd(), "x".repeat(60), "control.sock");
    expect(socketAddress(below)).toBe(join("x".repeat(60), "control.sock"));
  });

  it("is never longer than the system takes, in octets", () => {
    expect(() => socketAddress(`/${"é".repeat(60)}/a.sock`)).toThrow("at most 103 octets");
  });
});

describe("networkOf", () => {
  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["::FFFF:203.0.113.7", "203.0.113.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::1", "2001:db8:1:2::/64"],
    ["2001:DB8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["", ""],
  ])("of %s is %s", (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
