import { describe, expect, it } from "vitest";
import { ForwardClock } from "../../src/base/forward-clock.ts";

describe("ForwardClock", () => {
  it("stands still where the machine's clock steps back, until that has caught up", () => {
    const machine = { at: 100 };
    const { now } = new ForwardClock(() => machine.at);
    const read = [100, 90, 99, 101, 50].map((at) => {
      machine.at = at;
      return now();
    });
    expect(read).toEqual([100, 100, 100, 101, 101]);
  });

  it("is never behind what it was told to have reached", () => {
    const clock = new ForwardClock(() => 100);
    clock.reach(200);
    clock.reach(150);
    expect(clock.now()).toBe(200);
  });
});
