import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isAgentId, isOpaqueId, isOwnerId, isRequestId } from "../../src/identity/identifiers.ts";

const HEX64 = "0123456789abcdef".repeat(4);

describe("isAgentId", () => {
  it("takes 64 lower-case hex characters and nothing else", () => {
    expect(isAgentId(HEX64)).toBe(true);
    for (const text of [
      "",
      HEX64.slice(1),
      `${HEX64}0`,
      HEX64.toUpperCase(),
      `${HEX64.slice(1)}g`,
      `${HEX64.slice(1)}\n`,
      `${HEX64}\n`,
      "agtp://hotel.example/agents/lauren",
    ]) {
      expect(isAgentId(text), JSON.stringify(text)).toBe(false);
    }
  });
});

describe("isOwnerId", () => {
  it.each(["a", "lei:5493001KJTIIGC8Y1R12", "usr-1.b_c", "x".repeat(256)])("takes %s", (text) => {
    expect(isOwnerId(text)).toBe(true);
  });
  it.each(["", "a b", "a\n", "ä", "a/b", "x".repeat(257)])("refuses %j", (text) => {
    expect(isOwnerId(text)).toBe(false);
  });
});

describe("isRequestId", () => {
  it.each([
    "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
    "017F22E2-79B0-7CC3-98C4-DC0C0C07398F",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "01arz3ndektsv4rrffq69g5fav",
  ])("takes %s", (text) => {
    expect(isRequestId(text)).toBe(true);
  });
  it.each([
    "",
    "1",
    "017f22e2-79b0-4cc3-98c4-dc0c0c07398f",
    "017f22e2-79b0-7cc3-c8c4-dc0c0c07398f",
    "017f22e279b07cc398c4dc0c0c07398f",
    "01ARZ3NDEKTSV4RRFFQ69G5FAU",
    "81ARZ3NDEKTSV4RRFFQ69G5FAV",
    "01ARZ3NDEKTSV4RRFFQ69G5FA",
  ])("refuses %j", (text) => {
    expect(isRequestId(text)).toBe(false);
  });
});

describe("isOpaqueId", () => {
  it("takes up to 256 visible ASCII characters", () => {
    expect(isOpaqueId("task-0007/a!")).toBe(true);
    expect(isOpaqueId("x".repeat(256))).toBe(true);
    expect(isOpaqueId("x".repeat(257))).toBe(false);
    expect(isOpaqueId("")).toBe(false);
  });
  it("refuses every text with another character", () => {
    const other = fc.string({ unit: "binary", minLength: 1 }).filter((text) => /[^!-~]/.test(text));
    fc.assert(fc.property(other, (text) => !isOpaqueId(text)));
  });
});
