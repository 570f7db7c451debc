/** When replies leave: at the end of the turn, and no later than others can bear. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type BatchedWriter, WriteBatcher } from "../../src/server/outbox.ts";

/** Connections whose batches are noted. */
function createWriters() {
  const left: number[] = [];
  const writer = (number: number): BatchedWriter => ({ writeBatch: () => left.push(number) });
  return { left, writer };
}

describe("batched writes", () => {
  it("are at the end of the turn, in the order of their asking", async () => {
    const writes = new WriteBatcher();
    const { left, writer } = createWriters();
    writes.add(writer(1), performance.now());
    expect(left).toEqual([]);
    writes.add(writer(2), performance.now());
    await nextTurn();
    expect(left).toEqual([1, 2]);
  });

  it("do not wait for the end of a turn in which many ask", async () => {
    const writes = new WriteBatcher();
    const { left, writer } = createWriters();
    for (let number = 1; number <= 100; number += 1) writes.add(writer(number), performance.now());
    const early = left.length;
    expect(early).toBeGreaterThan(0);
    await nextTurn();
    expect(left).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  });

  it("do not wait for what takes its time", async () => {
    const writes = new WriteBatcher();
    const { left, writer } = createWriters();
    writes.add(writer(1), performance.now());
    for (const until = performance.now() + 5; performance.now() < until; );
    writes.add(writer(2), performance.now());
    expect(left).toEqual([1, 2]);
    writes.add(writer(3), performance.now());
    await nextTurn();
    expect(left).toEqual([1, 2, 3]);
  });

  it("that are asked for while a batch is written are in the next turn", async () => {
    const writes = new WriteBatcher();
    const left: string[] = [];
    const second: BatchedWriter = { writeBatch: () => left.push("second") };
    const first: BatchedWriter = {
      writeBatch: () => {
        left.push("first");
        writes.add(second, performance.now());
      },
    };
    writes.add(first, performance.now());
    await nextTurn();
    expect(left).toEqual(["first"]);
    await nextTurn();
    expect(left).toEqual(["first", "second"]);
  });
});
