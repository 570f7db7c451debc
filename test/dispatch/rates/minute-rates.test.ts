/** Rates by the minute over the nodes of a store. */
import { expect, it } from "vitest";
import {
  MinuteRates,
  type MinuteShares,
  openMinuteShares,
} from "../../../src/dispatch/rates/minute-rates.ts";
import { RateWindow } from "../../../src/dispatch/rates/rate-window.ts";
import { SOLE_HOLDER } from "../../../src/state/holders.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import type { FeedWatcher, Store } from "../../../src/state/store.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { alterStore } from "../../support/store.ts";

interface TestNode {
  readonly window: RateWindow;
  readonly shares: MinuteShares;
}

/** Nodes over one store, whose clock a test moves. */
function makeCluster() {
  const memory = createMemoryStore();
  const watchers: FeedWatcher[] = [];
  const clock = { now: 0 };
  const link = { isCut: false };
  const store: Store = alterStore(memory, {
    watch: (_, watcher) => void watchers.push(watcher),
    commit: (...args) =>
      link.isCut
        ? Promise.reject(new StoreUnavailableError("unreachable", new Error("cut")))
        : memory.commit(...args),
  });
  let seen = 0;
  const open = async (self: string): Promise<TestNode> => {
    const rates = new MinuteRates();
    const now = () => clock.now;
    const window = new RateWindow({ name: "test", rates, now });
    const shares = await openMinuteShares(store, {
      ...{ rates, now, holders: { ...SOLE_HOLDER, self } },
      onFault: (error) => expect(error).toBeUndefined(),
    });
    if (shares === undefined) throw new Error("there are no shares");
    // The test renews them itself.
    shares.close();
    return { window, shares };
  };
  /** A second goes by, in which every node has told what it gave. */
  const pass = async (nodes: readonly TestNode[]): Promise<void> => {
    for (const { shares } of nodes) await shares.renew();
    for (const watcher of watchers) watcher.ask();
    const feed = await memory.changes(seen, "minute-rates");
    seen = feed.upTo;
    for (const watcher of watchers) await watcher.take(feed);
    clock.now += 1_000;
  };
  return { open, pass, clock, link };
}

const MOST = 6;

it("are spent once in the whole cluster, a second later", async () => {
  const { open, pass, clock } = makeCluster();
  const nodes = [await open("a"), await open("b"), await open("c")];
  const [a, b, c] = nodes.map(({ window }) => window);
  for (let turn = 0; turn < 4; turn += 1) expect(a?.take("x", MOST)).toBeUndefined();
  await pass(nodes);
  expect(b?.take("x", MOST)).toBeUndefined();
  await pass(nodes);
  expect(a?.take("x", MOST)).toBeUndefined();
  await pass(nodes);
  expect([a, b, c].map((one) => one?.take("x", MOST) !== undefined)).toEqual([true, true, true]);
  expect(c?.take("y", MOST)).toBeUndefined();
  clock.now = 62_000;
  await pass(nodes);
  expect(c?.take("x", MOST)).toBeUndefined();
});

it("count on from what was told, whoever comes later and however long it was still", async () => {
  const { open, pass, clock } = makeCluster();
  const nodes = [await open("a"), await open("b")];
  const [a, b] = nodes.map(({ window }) => window);
  for (let turn = 0; turn < 3; turn += 1) expect(a?.take("x", MOST)).toBeUndefined();
  await pass(nodes);
  const late = await open("c");
  // What was given before it began does not count.
  for (let turn = 0; turn < MOST; turn += 1) expect(late.window.take("x", MOST)).toBeUndefined();
  clock.now = 200_000;
  for (let turn = 0; turn < 2; turn += 1) expect(a?.take("x", MOST)).toBeUndefined();
  await pass(nodes);
  for (let turn = 0; turn < 4; turn += 1) expect(b?.take("x", MOST)).toBeUndefined();
  expect(b?.take("x", MOST)).toBeGreaterThan(0);
});

it("count once what was told of an account that others had pushed out of what is told", async () => {
  const { open, pass } = makeCluster();
  const nodes = [await open("a"), await open("b")];
  const [a, b] = nodes.map(({ window }) => window);
  for (let turn = 0; turn < 2; turn += 1) expect(a?.take("x", MOST)).toBeUndefined();
  await pass(nodes);
  for (let other = 0; other < 600; other += 1) a?.take(`other ${other}`, MOST);
  await pass(nodes);
  expect(a?.take("x", MOST)).toBeUndefined();
  await pass(nodes);
  for (let turn = 0; turn < 3; turn += 1) expect(b?.take("x", MOST)).toBeUndefined();
  expect(b?.take("x", MOST)).toBeGreaterThan(0);
});

it("are none of a process that is alone", async () => {
  const options = { rates: new MinuteRates(), onFault: () => undefined };
  const shares = await openMinuteShares(createMemoryStore(), { ...options, holders: SOLE_HOLDER });
  expect(shares).toBeUndefined();
});

it("are told of once the store can be written again, though nothing more is taken", async () => {
  const { open, pass, clock, link } = makeCluster();
  const nodes = [await open("a"), await open("b")];
  const [a, b] = nodes.map(({ window }) => window);
  for (let turn = 0; turn < MOST; turn += 1) expect(a?.take("x", MOST)).toBeUndefined();
  link.isCut = true;
  await expect(pass(nodes)).rejects.toThrow(StoreUnavailableError);
  link.isCut = false;
  await pass(nodes);
  expect(b?.take("x", MOST)).toBeDefined();
  // An account at rest is told no more, and counts anew.
  clock.now += 62_000;
  a?.take("y", MOST);
  link.isCut = true;
  await expect(pass(nodes)).rejects.toThrow(StoreUnavailableError);
  link.isCut = false;
  for (let turn = 0; turn < MOST; turn += 1) expect(a?.take("x", MOST)).toBeUndefined();
  await pass(nodes);
  expect(b?.take("x", MOST)).toBeDefined();
  // Also where it is taken again while that is on its way.
  clock.now += 62_000;
  a?.take("y", MOST);
  const passing = pass(nodes);
  expect(a?.take("x", MOST)).toBeUndefined();
  await passing;
  await pass(nodes);
  expect(b?.take("x", MOST)).toBeUndefined();
});
