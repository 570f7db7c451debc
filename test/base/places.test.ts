import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Leave, mayHold, Places } from "../../src/base/fair-shares.ts";
import type { TaskOwner } from "../../src/base/task-queue.ts";

const known = (key: string): TaskOwner => ({ key, isKnown: true });
const stranger = (key: string): TaskOwner => ({ key, isKnown: false });

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

  it("are given back once", () => {
    const places = new Places(1);
    const leave = places.take(known("ina"));
    leave?.();
    leave?.();
    expect(places.take(known("rex"))).toBeDefined();
    expect(places.take(known("mia"))).toBeUndefined();
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
