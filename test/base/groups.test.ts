/** Very many things are worked on a group at a time. */
import { describe, expect, it } from "vitest";
import { inGroups } from "../../src/base/groups.ts";

describe("inGroups", () => {
  it("begins a group when the one before it has ended, and keeps the order", async () => {
    const items = Array.from({ length: 1_050 }, (_, at) => at);
    let underWay = 0;
    let most = 0;
    const results = await inGroups(items, async (group) => {
      underWay += group.length;
      most = Math.max(most, underWay);
      await Promise.resolve();
      underWay -= group.length;
      return group.filter((one) => one % 2 === 0).map((one) => -one);
    });
    expect(most).toBe(100);
    expect(results).toEqual(items.filter((one) => one % 2 === 0).map((one) => -one));
  });

  it("has nothing to do for nothing, and ends with the first group that fails", async () => {
    expect(await inGroups([], () => Promise.reject(new Error("asked")))).toEqual([]);
    const seen: number[] = [];
    const failing = inGroups(Array<number>(300).fill(1), (group) => {
      seen.push(group.length);
      return Promise.reject(new Error("the disk is full"));
    });
    await expect(failing).rejects.toThrow("the disk is full");
    expect(seen).toEqual([100]);
  });
});
