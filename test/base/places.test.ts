import { setImmediate as nextRound } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Leave, mayHold, Places } from "../../src/base/places.ts";
import type { TaskOwner } from "../../src/base/task-queue.ts";

const known = (key: string): TaskOwner => ({ key, isKnown: true });
const stranger = (key: string): TaskOwner => ({ key, isKnown: false });
const never = new AbortController().signal;

function takeAll(places: Places, ownerOf: (at: number) => TaskOwner): Leave[] {
  return Array.from({ length: 100 }, (_, at) => places.take(ownerOf(at))).filter(
    (leave) => leave !== undefined,
  );
}

describe("Places", () => {
  it("have room for somebody else, whoever asks for many", () => {
    const places = new Places(16);
    expect(takeAll(places, () => known("ina"))).toHaveLength(8);
    expect(takeAll(places, () => known("rex"))).toHaveLength(4);
    expect(places.take(known("mia"))).toBeDefined();
  });

  it("are half for all who are not known, whatever they call themselves", () => {
    const places = new Places(16);
    expect(takeAll(places, (at) => stranger(`s${at}`))).toHaveLength(8);
    expect(takeAll(places, (at) => known(`k${at}`))).toHaveLength(8);
  });

  it("are had by somebody where there is only one", () => {
    const places = new Places(1);
    const leave = places.take(stranger("s"));
    expect(places.take(known("ina"))).toBeUndefined();
    leave?.();
    expect(places.take(known("ina"))).toBeDefined();
  });

  it("go to who holds least, and of equals to who is known", async () => {
    const places = new Places(4);
    const order: string[] = [];
    const held = ["ina", "ina", "rex", "zoe"].map((name) => places.take(known(name)));
    const wait = async (name: string, owner: TaskOwner): Promise<void> => {
      const leave = await places.wait(owner, never, 100);
      order.push(name);
      leave?.();
    };
    const all = [
      wait("ina", known("ina")),
      wait("a stranger", stranger("s")),
      wait("mia", known("mia")),
    ];
    await nextRound();
    for (const leave of held.reverse()) leave?.();
    await Promise.all(all);
    expect(order).toEqual(["mia", "a stranger", "ina"]);
  });

  it("are not kept for who has gone, and one is given back once", async () => {
    const places = new Places(1);
    const leave = places.take(known("ina"));
    const gone = new AbortController();
    const waiting = places.wait(known("rex"), gone.signal, 10);
    gone.abort();
    expect(await waiting).toBeUndefined();
    expect(await places.wait(known("rex"), gone.signal, 10)).toBeUndefined();
    leave?.();
    leave?.();
    expect(places.take(known("rex"))).toBeDefined();
    expect(places.take(known("mia"))).toBeUndefined();
  });

  it("are waited for by a bounded number, of whom nobody is all", async () => {
    const places = new Places(1);
    const leave = places.take(known("ina"));
    const waiting = Array.from({ length: 20 }, () => places.wait(known("ina"), never, 10));
    const other = places.wait(known("rex"), never, 10);
    leave?.();
    const settled = await Promise.all(
      [...waiting, other].map(async (one) => {
        const left = await one;
        left?.();
        return left !== undefined;
      }),
    );
    expect(settled.filter(Boolean)).toHaveLength(6);
    expect(settled.at(-1)).toBe(true);
  });

  it("leave one free after whatever one owner may hold, unless there is only one", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 200 }), (count) => {
        const held: { owner: TaskOwner }[] = [];
        while (mayHold(known("ina"), count, held)) held.push({ owner: known("ina") });
        expect(held.length).toBeLessThan(count);
        expect(held.length).toBeGreaterThanOrEqual(Math.floor(count / 2));
      }),
    );
  });
});
