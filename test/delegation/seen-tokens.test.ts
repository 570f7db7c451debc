import { describe, expect, it } from "vitest";
import { SeenTokens } from "../../src/delegation/seen-tokens.ts";
import { createMemoryStore } from "../../src/store/memory-store.ts";

describe("SeenTokens", () => {
  it("takes a token once, also when it comes twice at the same time", async () => {
    const seen = await SeenTokens.open(createMemoryStore());
    const both = await Promise.all([seen.take("p", "1", 100, 0), seen.take("p", "1", 100, 0)]);
    expect(both.toSorted()).toEqual(["fresh", "seen"]);
    expect(await seen.take("q", "1", 100, 0)).toBe("fresh");
  });

  it("remembers through a restart, and forgets what nobody would believe any more", async () => {
    const store = createMemoryStore();
    const first = await SeenTokens.open(store);
    await first.take("p", "1", 100, 0);
    const second = await SeenTokens.open(store);
    expect(await second.take("p", "1", 100, 50)).toBe("seen");
    expect(await second.take("p", "2", 300, 200)).toBe("fresh");
    expect(await store.list("delegation-tokens")).toHaveLength(1);
  });

  it("takes so many of each peer", async () => {
    const seen = await SeenTokens.open(createMemoryStore());
    for (let id = 0; id < 10_000; id += 1) await seen.take("p", String(id), 100, 0);
    expect(await seen.take("p", "more", 100, 0)).toBe("full");
    expect(await seen.take("q", "other", 100, 0)).toBe("fresh");
    expect(await seen.take("p", "later", 300, 200)).toBe("fresh");
  });
});
