import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isNobodysAddress, networkOf, socketAddress } from "../../src/base/addresses.ts";

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

describe("an address that no service has", () => {
  it.each([
    ...["0.0.0.0", "169.254.169.254", "255.255.255.255", "::", "fe80::1%eth0", "ff02::1"],
    ...["::ffff:169.254.169.254", "64:ff9b::169.254.169.254", "64:ff9b::a9fe:a9fe"],
    ...["64:ff9b::127.0.0.1", "64:ff9b::0.0.0.0", "64:ff9b::e000:1"],
    ...["100.100.100.200", "192.0.0.192", "168.63.129.16", "64:ff9b::100.100.100.200"],
    ...["::ffff:168.63.129.16", "fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe"],
  ])("is %s", (address) => {
    expect(isNobodysAddress(address)).toBe(true);
  });

  it.each([
    ...["127.0.0.1", "10.0.0.1", "100.64.0.1", "192.168.1.1", "203.0.113.7", "::1", "fd00::1"],
    ...["64:ff9b::203.0.113.7", "64:ff9b::10.0.0.1", "2001:db8::1", "localhost", ""],
  ])("is not %j", (address) => {
    expect(isNobodysAddress(address)).toBe(false);
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
    ["2001::1:2:3:4:5", "2001:0:0:1::/64"],
    ["64:ff9b::203.0.113.7", "64:ff9b:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["", ""],
  ])("of %s is %s", (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
