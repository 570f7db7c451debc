import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FairSlots, type Leave, mayHold, Places } from "../../src/base/fair-shares.ts";
import type { TaskOwner } from "../../src/base/task-queue.ts";

const never = (): AbortSignal => new AbortController().signal;

/** Places of which everybody tells who got one, in their order. */
function makeSlots(all: number) {
  const slots = new FairSlots(all);
  const served: string[] = [];
  const held: (() => void)[] = [];
  const ask = async (owner: string, signal = never()): Promise<void> => {
    held.push(await slots.take(owner, signal));
    served.push(owner);
  };
  /** The one that has been held longest is given back. */
  const release = async (): Promise<void> => {
    held.shift()?.();
    await settle();
  };
  return { ask, served, release };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("FairSlots", () => {
  it("gives no one owner more than half, so that the next finds one free", async () => {
    const { ask, served } = makeSlots(8);
    for (let count = 0; count < 20; count += 1) void ask("greedy");
    await settle();
    expect(served).toHaveLength(4);
    void ask("modest");
    await settle();
    expect(served.at(-1)).toBe("modest");
  });

  it("gives the next one to who has fewest, however many of the others came before", async () => {
    const { ask, served, release } = makeSlots(6);
    const greedy = Array.from({ length: 12 }, (_, at) => `stranger ${at}`);
    for (let count = 0; count < 20; count += 1) for (const owner of greedy) void ask(owner);
    await settle();
    expect(served).toHaveLength(6);
    for (let count = 0; count < 6; count += 1) await release();
    expect(new Set(served).size).toBe(12);
    void ask("ina");
    await release();
    expect(served.slice(12)).toEqual(["ina"]);
    for (let count = 0; count < 24; count += 1) await release();
    const shares = greedy.map((owner) => served.filter((one) => one === owner).length);
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
  });

  it("forgets who waits no longer, and gives nothing back twice", async () => {
    const slots = new FairSlots(2);
    const first = await slots.take("a", never());
    await slots.take("b", never());
    const leaving = new AbortController();
    const left = slots.take("c", leaving.signal);
    const third = slots.take("d", never());
    leaving.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
    first();
    first();
    await third;
    let isTaken = false;
    void slots.take("e", never()).then(() => {
      isTaken = true;
    });
    await settle();
    expect(isTaken).toBe(false);
    await expect(slots.take("f", leaving.signal)).rejects.toThrow("gone");
  });
});

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
