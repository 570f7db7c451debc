import { describe, expect, it } from "vitest";
import { type LeasedShares, openRateShares } from "../../../src/dispatch/rates/rate-shares.ts";
import { Rates } from "../../../src/dispatch/rates/rates.ts";
import { SOLE_HOLDER } from "../../../src/state/holders.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import type { FeedWatcher, Store } from "../../../src/state/store.ts";
import { alterStore } from "../../support/store.ts";

const WHOLE = 100;
const LIMITS = { requestsPerSecond: WHOLE, workMsPerSecond: 0 };
const PAYER = "agent a";
const NODES = 10;
const ALL: readonly number[] = Array.from({ length: NODES }, (_, index) => index);

interface TestNode {
  readonly rates: Rates;
  readonly shares: LeasedShares;
  isRunning: boolean;
}

/** Nodes over one store, whose clock a test moves. */
async function openNodes(count: number) {
  const memory = createMemoryStore();
  const watchers: FeedWatcher[] = [];
  const store: Store = alterStore(memory, { watch: (_, watcher) => void watchers.push(watcher) });
  let now = 0;
  let seen = 0;
  const nodes: TestNode[] = [];
  for (let index = 0; index < count; index += 1) {
    const rates = new Rates(LIMITS);
    const shares = await openRateShares(store, {
      holders: { ...SOLE_HOLDER, self: `node-${index}` },
      limitOf: (scope) => rates.limitOf(scope),
      onFault: (error) => expect(error).toBeUndefined(),
      now: () => now,
    });
    if (shares === undefined) throw new Error("there are no shares");
    // The test renews them itself.
    shares.close();
    rates.share(shares);
    nodes.push({ rates, shares, isRunning: true });
  }
  const tell = async (): Promise<void> => {
    for (const watcher of watchers) watcher.ask();
    const feed = await memory.changes(seen, "rate-leases");
    seen = feed.upTo;
    for (const watcher of watchers) await watcher.take(feed);
  };
  /** Asks some nodes in turn, every millisecond, for some seconds; answers how often each said yes. */
  const ask = async (seconds: number, asked: readonly number[]): Promise<number> => {
    let given = 0;
    for (let second = 0; second < seconds; second += 1) {
      for (let tick = 0; tick < 1_000; tick += 1) {
        now += 1;
        const node = nodes[asked[tick % asked.length] ?? 0];
        if (node?.rates.admit(() => PAYER, now) === undefined) given += 1;
      }
      for (const { shares, isRunning } of nodes) if (isRunning) await shares.renew();
      await tell();
    }
    return given;
  };
  return { nodes, ask, store: memory };
}

// `[limits] requests_per_second`
describe("a rate that several nodes give", () => {
  it("is the whole one at the node that alone is asked", async () => {
    const { ask } = await openNodes(2);
    expect(await ask(10, [0])).toBeGreaterThan(9.5 * WHOLE);
  });

  it.each([2, 3, 5, 12, 30])(
    "is given once by %i nodes that are all asked, but for the beginning",
    async (count) => {
      const { ask } = await openNodes(count);
      const all = Array.from({ length: count }, (_, index) => index);
      const beginning = await ask(2, all);
      // Each gives a second's worth that is saved up, and the whole rate until it hears of the others.
      expect(beginning).toBeLessThanOrEqual(count * 3 * WHOLE);
      const later = await ask(20, all);
      expect(later).toBeGreaterThan(0.9 * 20 * WHOLE);
      expect(later).toBeLessThan(1.1 * 20 * WHOLE);
    },
  );

  type Asked = (second: number) => readonly number[];
  const half = NODES / 2;
  it.each<[string, Asked, Asked]>([
    ["all, then one", () => ALL, () => [0]],
    ["one half, then the other", () => ALL.slice(0, half), () => ALL.slice(half)],
    ["fewer and fewer, then all", (second) => ALL.slice(second % NODES), () => ALL],
  ])("is given once on the whole where a payer asks %s of ten nodes", async (_, even, odd) => {
    const { ask } = await openNodes(NODES);
    const inSecond = (second: number) => ask(1, (second % 2 === 0 ? even : odd)(second));
    for (let second = 0; second < 4; second += 1) await inSecond(second);
    const given: number[] = [];
    for (let second = 4; second < 44; second += 1) given.push(await inSecond(second));
    expect(given.reduce((sum, one) => sum + one, 0)).toBeLessThan(1.05 * given.length * WHOLE);
    // The rate, and what is saved up.
    expect(Math.max(...given)).toBeLessThan(2.1 * WHOLE);
  });

  it("is the whole one again when the other node is gone", async () => {
    const { nodes, ask } = await openNodes(2);
    await ask(5, [0, 1]);
    const [, other] = nodes;
    if (other !== undefined) other.isRunning = false;
    await ask(4, [0]);
    expect(await ask(10, [0])).toBeGreaterThan(9.5 * WHOLE);
  });

  it("costs no write while nobody takes much, and names nobody", async () => {
    const { nodes, ask, store } = await openNodes(2);
    for (const { shares } of nodes) await shares.renew();
    expect(await store.list("rate-leases")).toEqual([]);
    await ask(1, [0]);
    const leases = JSON.stringify(await store.list("rate-leases"));
    expect(leases).toContain("node-0");
    expect(leases).not.toContain(PAYER);
  });

  it("is shared with nobody where there are no other nodes", async () => {
    const options = { holders: SOLE_HOLDER, limitOf: () => 1, onFault: () => undefined };
    expect(await openRateShares(createMemoryStore(), options)).toBeUndefined();
  });
});
