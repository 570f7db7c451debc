import { describe, expect, it } from "vitest";
import { Turns } from "../../src/synthesis/turns.ts";
import { countTurns } from "../support/event-loop.ts";

describe("Turns", () => {
  it("come one in each round of the event loop, in the order in which they were asked for", async () => {
    const turns = new Turns();
    const loop = countTurns();
    const taken = await Promise.all(
      ["a", "b", "c"].map(async (name) => {
        await turns.take();
        return { name, round: loop.turns };
      }),
    );
    loop.stop();
    expect(taken.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(new Set(taken.map((one) => one.round)).size).toBe(3);
  });
});
