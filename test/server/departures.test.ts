/** When replies leave: at the end of the turn, and no later than others can bear. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Departing, Departures } from "../../src/server/departures.ts";

/** Whose departures are written down. */
function createTravellers() {
  const left: number[] = [];
  const traveller = (number: number): Departing => ({ depart: () => left.push(number) });
  return { left, traveller };
}

describe("departures", () => {
  it("are at the end of the turn, in the order of their asking", async () => {
    const departures = new Departures();
    const { left, traveller } = createTravellers();
    departures.add(traveller(1));
    expect(left).toEqual([]);
    departures.add(traveller(2));
    await nextTurn();
    expect(left).toEqual([1, 2]);
  });

  it("do not wait for the end of a turn in which many ask", async () => {
    const departures = new Departures();
    const { left, traveller } = createTravellers();
    for (let number = 1; number <= 100; number += 1) departures.add(traveller(number));
    const early = left.length;
    expect(early).toBeGreaterThan(0);
    await nextTurn();
    expect(left).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  });

  it("do not wait for what takes its time", async () => {
    const departures = new Departures();
    const { left, traveller } = createTravellers();
    departures.add(traveller(1));
    for (const until = performance.now() + 5; performance.now() < until; );
    departures.add(traveller(2));
    expect(left).toEqual([1, 2]);
    departures.add(traveller(3));
    await nextTurn();
    expect(left).toEqual([1, 2, 3]);
  });

  it("that are asked for by who departs are in the next turn", async () => {
    const departures = new Departures();
    const left: string[] = [];
    const second: Departing = { depart: () => left.push("second") };
    departures.add({
      depart: () => {
        left.push("first");
        departures.add(second);
      },
    });
    await nextTurn();
    expect(left).toEqual(["first"]);
    await nextTurn();
    expect(left).toEqual(["first", "second"]);
  });
});
