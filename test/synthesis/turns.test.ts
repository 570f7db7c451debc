import { describe, expect, it } from "vitest";
import { Turns } from "../../src/synthesis/turns.ts";

describe("Turns", () => {
  it("come one in each round of the event loop, in the order in which they were asked for", async () => {
    const turns = new Turns();
    let round = 0;
    let isOver = false;
    const count = (): void => {
      round += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const taken = await Promise.all(
      ["a", "b", "c"].map(async (name) => {
        await turns.take();
        return { name, round };
      }),
    );
    isOver = true;
    expect(taken.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(new Set(taken.map((one) => one.round)).size).toBe(3);
  });
});
