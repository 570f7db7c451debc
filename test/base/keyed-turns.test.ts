import { describe, expect, it } from "vitest";
import { KeyedTurns } from "../../src/base/task-queue.ts";

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
    await expect.poll(() => seen).toEqual(["a1 begins", "b1 begins"]);
    gates.shift()?.();
    await expect.poll(() => seen).toEqual(["a1 begins", "b1 begins", "a1 ends", "a2 begins"]);
    for (const open of gates) open();
    expect(await Promise.all(all)).toEqual(["a1", "a2", "b1"]);
  });

  it("goes on after work that failed, tells its caller alone, and forgets names without work", async () => {
    const turns = new KeyedTurns();
    const failed = turns.run("a", () => Promise.reject(new Error("no")));
    const next = turns.run("a", () => Promise.resolve("yes"));
    await expect(failed).rejects.toThrow("no");
    expect(await next).toBe("yes");
    await expect.poll(() => turns.size).toBe(0);
  });
});
