import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { socketAddress } from "../../src/base/addresses.ts";

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
