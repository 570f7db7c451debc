import { describe, expect, it } from "vitest";
import { SeenTokens } from "../../../src/modules/delegation/token.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";

/** The register of a store, over a clock that the test moves. */
async function openAt(at: number, store = createMemoryStore()) {
  const clock = { at };
  return { clock, store, seen: await SeenTokens.open(store, () => clock.at) };
}

describe("SeenTokens", () => {
  it("takes a token once, also when it comes twice at the same time", async () => {
    const { seen } = await openAt(0);
    const both = await Promise.all([seen.take("p", "1", 100), seen.take("p", "1", 100)]);
    expect(both.toSorted()).toEqual(["fresh", "seen"]);
    expect(await seen.take("q", "1", 100)).toBe("fresh");
  });

  it("remembers through a restart, and forgets what nobody would believe any more", async () => {
    const { seen, store } = await openAt(0);
    await seen.take("p", "1", 100);
    expect(await (await openAt(50, store)).seen.take("p", "1", 100)).toBe("seen");
    const later = await openAt(3_600_200, store);
    expect(await later.seen.take("p", "2", 3_600_300)).toBe("fresh");
    expect(await store.list("delegation-tokens")).toHaveLength(1);
  });

  it("takes no token a second time because the clock has stepped back", async () => {
    const { seen, clock, store } = await openAt(0);
    await seen.take("p", "1", 100);
    clock.at = 60_000;
    expect(await seen.take("p", "2", 60_100)).toBe("fresh");
    clock.at = 50;
    expect(await seen.take("p", "1", 100)).toBe("seen");
    await openAt(60_000, store);
    expect(await (await openAt(50, store)).seen.take("p", "1", 100)).toBe("seen");
  });

  it("takes so many of each peer", async () => {
    const { seen, clock } = await openAt(0);
    for (let id = 0; id < 10_000; id += 1) await seen.take("p", String(id), 100);
    expect(await seen.take("p", "more", 100)).toBe("full");
    expect(await seen.take("q", "other", 100)).toBe("fresh");
    clock.at = 200;
    expect(await seen.take("p", "later", 300)).toBe("fresh");
  });
});
