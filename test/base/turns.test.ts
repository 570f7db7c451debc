/** Work that must not overlap has its turns, whatever becomes of the piece before. */

import { describe, expect, it } from "vitest";
import { KeyedTurns, Turns } from "../../src/base/turns.ts";
import { countTurns } from "../support/event-loop.ts";
import { PATIENCE } from "../support/patience.ts";

describe("Turns", () => {
  it("does one task after the other, whatever becomes of the one before", async () => {
    const turns = new Turns();
    const seen: string[] = [];
    const slow = async (name: string): Promise<string> => {
      seen.push(`${name} begins`);
      await Promise.resolve();
      seen.push(`${name} ends`);
      if (name === "b") throw new Error("lost");
      return name;
    };
    const results = await Promise.allSettled(
      ["a", "b", "c"].map((one) => turns.run(() => slow(one))),
    );
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    const order = ["a", "b", "c"].flatMap((one) => [`${one} begins`, `${one} ends`]);
    expect(seen).toEqual(order);
  });

  it("waits for no round of the event loop", async () => {
    const turns = new Turns();
    const loop = countTurns();
    for (let at = 0; at < 50; at += 1) await turns.run(() => at);
    loop.stop();
    expect(loop.turns).toBe(0);
  });

  it("rejects with what a task throws at once, and takes on more afterwards", async () => {
    const turns = new Turns();
    const broken = turns.run(() => {
      throw new Error("broken");
    });
    await expect(broken).rejects.toThrow("broken");
    await expect(turns.run(() => "whole")).resolves.toBe("whole");
  });

  it("says when all that was given so far has ended", async () => {
    const turns = new Turns();
    const ended: string[] = [];
    const failed = turns.run(() => Promise.reject(new Error("lost")));
    void turns.run(async () => ended.push("second"));
    await expect(failed).rejects.toThrow("lost");
    await turns.settled();
    expect(ended).toEqual(["second"]);
  });
});

describe("KeyedTurns", () => {
  it("runs one piece of work of a name after the other, and those of others beside it", async () => {
    const turns = new KeyedTurns();
    const seen: string[] = [];
    const gates: (() => void)[] = [];
    const work = (what: string) => async () => {
      seen.push(`${what} begins`);
      await new Promise<void>((resolve) => gates.push(resolve));
      seen.push(`${what} ends`);
      return what;
    };
    const all = [
      turns.run("a", work("a1")),
      turns.run("a", work("a2")),
      turns.run("b", work("b1")),
    ];
    await expect.poll(() => seen, PATIENCE).toEqual(["a1 begins", "b1 begins"]);
    gates.shift()?.();
    await expect
      .poll(() => seen, PATIENCE)
      .toEqual(["a1 begins", "b1 begins", "a1 ends", "a2 begins"]);
    for (const open of gates) open();
    expect(await Promise.all(all)).toEqual(["a1", "a2", "b1"]);
  });

  it("goes on after work that failed, tells its caller alone, and forgets names without work", async () => {
    const turns = new KeyedTurns();
    const failed = turns.run("a", () => Promise.reject(new Error("no")));
    const next = turns.run("a", () => Promise.resolve("yes"));
    await expect(failed).rejects.toThrow("no");
    expect(await next).toBe("yes");
    await expect.poll(() => turns.size, PATIENCE).toBe(0);
  });
});
