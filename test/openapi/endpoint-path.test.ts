/** Names and segments of documents, however they are written. */
import { describe, expect, it } from "vitest";
import { makePath, parameterName } from "../../src/openapi/endpoint-path.ts";
import { growthOf, NEARLY_LINEAR } from "../support/growth.ts";

describe("parameterName", () => {
  it.each([
    ["order-id", "order_id"],
    ["--order--id--", "order_id"],
    ["__order__-__id__", "order_____id"],
    ["~", "value"],
  ])("makes %j %j", (name, expected) => {
    expect(parameterName(name)).toBe(expected);
  });

  it("takes time in proportion to a name", async () => {
    const make = (size: number): unknown => parameterName(`-a${"_".repeat(size)}b`);
    expect(await growthOf(make, 8_000)).toBeLessThan(NEARLY_LINEAR);
  });
});

describe("makePath", () => {
  it("gives text beside a parameter a segment without what is around its words", () => {
    expect(makePath("/--a.b--{id}.json", "FETCH", new Set()).path).toBe("/a.b/{id}/json");
  });

  it("takes time in proportion to a segment", async () => {
    const make = (size: number): unknown =>
      makePath(`/{id}a${"-".repeat(size)}b`, "FETCH", new Set());
    expect(await growthOf(make, 8_000)).toBeLessThan(NEARLY_LINEAR);
  });
});
