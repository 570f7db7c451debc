/** Workers' stores and leases over the state of their parent, in one process. */
import { duplexPair } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { Link } from "../../../src/base/link.ts";
import { Collection } from "../../../src/state/collection.ts";
import { createMemoryJournal } from "../../../src/state/journal/journal.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { NO_AUDIT_ID } from "../../../src/state/records/record.ts";
import { createJournalStore } from "../../../src/state/records/record-store.ts";
import { STORE_FAULTS } from "../../../src/state/sharing/link-faults.ts";
import { ParentNode } from "../../../src/state/sharing/parent-node.ts";
import { ParentRecords } from "../../../src/state/sharing/parent-records.ts";
import { ParentStore } from "../../../src/state/sharing/parent-store.ts";
import { SealedChains } from "../../../src/state/sharing/sealed-chains.ts";
import {
  type Joined,
  type SharedFeed,
  SharedState,
} from "../../../src/state/sharing/shared-state.ts";
import type { Store } from "../../../src/state/store.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { PATIENCE } from "../../support/patience.ts";
import { alterStore } from "../../support/store.ts";

const LEASE_MS = 300;

function makeParent(store: Store = createMemoryStore()) {
  const chains = new SealedChains(createJournalStore(createMemoryJournal()), new Map());
  return { chains, shared: new SharedState({ store, chains, leaseMs: LEASE_MS }) };
}

async function join(shared: SharedState, name: string) {
  const [near, far] = duplexPair();
  const link = new Link(near, STORE_FAULTS);
  const gone = shared.serve(new Link(far, STORE_FAULTS), name);
  onTestFinished(() => link.close());
  const joined = await link.ask<Joined>("join");
  const store = new ParentStore(link);
  const node = new ParentNode({ link, store, joined });
  link.serve({ save: () => undefined });
  const items = await Collection.open<string>(store, {
    name: "items",
    read: (value) => (typeof value === "string" ? value : undefined),
  });
  onTestFinished(() => node.close());
  return { link, store, node, items, joined, gone };
}

/** A worker serves from now on, and its parent knows. */
async function serve({ link, store }: { readonly link: Link; readonly store: Store }) {
  link.tell("serving");
  await store.list("items");
}

describe("workers of one parent", () => {
  it("are told by it what stands before a record, where a chain has a gap", async () => {
    const records = createJournalStore(createMemoryJournal());
    const asked: unknown[] = [];
    const before = async (...gap: readonly unknown[]) => {
      asked.push(gap);
      return gap[1] === undefined ? undefined : { auditId: "a".repeat(64), jws: "x.y.z" };
    };
    const reading = { ...records, openReader: () => ({ find: records.find, before }) };
    const chains = new SealedChains(reading, new Map());
    const shared = new SharedState({ store: createMemoryStore(), chains, leaseMs: LEASE_MS });
    const { link } = await join(shared, "1");
    const own = new ParentRecords(link, () => undefined);
    const found = { auditId: "a".repeat(64), jws: "x.y.z" };
    expect(await own.before("alma", "b".repeat(64))).toEqual(found);
    expect(await own.before("alma", undefined)).toBeUndefined();
    expect(asked).toEqual([
      ["alma", "b".repeat(64)],
      ["alma", undefined],
    ]);
  });

  it("see what another has changed once that says that it holds everywhere", async () => {
    const { shared } = makeParent();
    const [left, right] = [await join(shared, "1"), await join(shared, "2")];
    await Promise.all([left.node.start(), right.node.start()]);
    for (const value of ["one", "two", "three"]) {
      await left.items.put("key", value);
      await left.items.everywhere("key");
      expect(right.items.get("key")).toBe(value);
    }
    await left.items.delete(["key"]);
    await left.items.put("other", "x");
    await left.items.everywhere("other");
    expect(right.items.get("key")).toBeUndefined();
  });

  it("have what another has committed once they have caught up", async () => {
    const { shared } = makeParent();
    const [left, right] = [await join(shared, "1"), await join(shared, "2")];
    await Promise.all([left.node.start(), right.node.start()]);
    for (const value of ["one", "two", "three"]) {
      await left.items.put("key", value);
      await right.node.catchUp();
      expect(right.items.get("key")).toBe(value);
    }
  });

  it("do not take for absent what their parent's store cannot tell", async () => {
    let isBroken = false;
    const memory = createMemoryStore();
    const failing = alterStore(memory, {
      changes: (...asked) =>
        isBroken
          ? Promise.reject(new StoreUnavailableError("unreachable", new Error("gone")))
          : memory.changes(...asked),
    });
    const { shared } = makeParent(failing);
    const { node } = await join(shared, "1");
    await node.start();
    isBroken = true;
    await expect(node.catchUp()).rejects.toThrow(StoreUnavailableError);
    isBroken = false;
    await node.catchUp();
  });

  it("cost the store one question where nothing is new, and hear of what is", async () => {
    const asked: (string | undefined)[] = [];
    const memory = createMemoryStore();
    const counted = alterStore(memory, {
      changes: (after, collection) => {
        asked.push(collection);
        return memory.changes(after, collection);
      },
    });
    const { shared } = makeParent(counted);
    const [left, right] = [await join(shared, "1"), await join(shared, "2")];
    const ask = (after: number) => right.link.ask("feed", { after, only: ["items", "others"] });
    await left.items.put("earlier", "x");
    const { upTo } = (await ask(0)) as SharedFeed;
    await left.items.put("key", "one");
    const first = (await ask(upTo)) as SharedFeed;
    expect(first.changed.map(([collection]) => collection)).toEqual(["items"]);
    asked.length = 0;
    expect(await ask(first.upTo)).toEqual({ ...first, changed: [] });
    expect(asked).toEqual([undefined]);
    await left.items.put("key", "two");
    const next = (await ask(first.upTo)) as SharedFeed;
    expect(next.upTo).toBeGreaterThan(first.upTo);
    expect(next.changed).toMatchObject([["items", [{ key: "key", entry: { value: "two" } }]]]);
  });

  it("read nothing anew that they have heard of, when another was sooner", async () => {
    const listed: string[] = [];
    const memory = createMemoryStore();
    const noting = alterStore(memory, {
      list: (collection, range) => {
        listed.push(collection);
        return memory.list(collection, range);
      },
    });
    const { shared } = makeParent(noting);
    const { node, items } = await join(shared, "1");
    await node.start();
    const put = (value: string) =>
      memory.commit([{ kind: "put", collection: "items", key: "key", value }]);
    // More than the store remembers one by one.
    for (let more = 0; more < 10; more += 1) {
      await Promise.all(Array.from({ length: 1_000 }, () => put("one")));
      await node.catchUp();
    }
    listed.length = 0;
    await put("two");
    expect((await items.change("key", (value) => `${value} and more`)).item).toBe("two and more");
    expect(listed).toEqual([]);
  });

  it("are woken once, however much others commit, until they ask what has changed", async () => {
    const { shared } = makeParent();
    const left = await join(shared, "1");
    const [near, far] = duplexPair();
    const link = new Link(near, STORE_FAULTS);
    onTestFinished(() => link.close());
    void shared.serve(new Link(far, STORE_FAULTS), "2");
    let woken = 0;
    const wake = (): void => {
      woken += 1;
    };
    link.serve({ wake });
    await link.ask<Joined>("join");
    // An answer comes behind all that was told before it.
    const commit = async (): Promise<number> => {
      for (const value of ["one", "two", "three"]) await left.items.put("key", value);
      await link.ask("heads", []);
      return woken;
    };
    expect(await commit()).toBe(1);
    expect(await commit()).toBe(1);
    await link.ask("feed", { after: 0, only: ["items"] });
    expect(await commit()).toBe(2);
  });

  it("win a key once", async () => {
    const { shared } = makeParent();
    const [left, right] = [await join(shared, "1"), await join(shared, "2")];
    const both = await Promise.all([
      left.items.add("key", "left"),
      right.items.add("key", "right"),
    ]);
    expect(both.map(({ kind }) => kind).toSorted()).toEqual(["added", "taken"]);
    expect(left.items.get("key")).toBe(right.items.get("key"));
  });

  it("wait for one that says nothing no longer than its lease, and it does not serve by then", async () => {
    const { shared } = makeParent();
    const [left, right] = [await join(shared, "1"), await join(shared, "2")];
    await Promise.all([left.node.start(), right.node.start()]);
    expect(right.node.isFresh).toBe(true);
    // From here on it takes nothing in, and renews nothing.
    await right.node.close();
    const begun = performance.now();
    await left.items.put("key", "one");
    await left.items.everywhere("key");
    expect(performance.now() - begun).toBeGreaterThanOrEqual(LEASE_MS);
    expect(right.node.isFresh).toBe(false);
    expect(() => right.node.checkLease()).toThrow(StoreUnavailableError);
  });

  it("wait for none that is gone", async () => {
    const { shared } = makeParent();
    const [left, right] = [await join(shared, "1"), await join(shared, "2")];
    await left.node.start();
    await Promise.all([left, right].map(serve));
    await shared.save();
    right.link.close();
    await right.gone;
    await left.items.put("key", "one");
    const { revision } = (await left.store.list("items"))[0] ?? { revision: 0 };
    await left.store.everywhere(revision);
    await shared.save();
  });

  it("hear that one is gone, whose work they may then take over, and of none that is there", async () => {
    const { shared } = makeParent();
    const [left, right] = [await join(shared, "1"), await join(shared, "2")];
    const { holders } = left.node;
    expect(left.joined.process).not.toBe(right.joined.process);
    expect(holders.isGone(right.joined.process)).toBe(false);
    await Promise.all([left.node.start(), right.node.start()]);
    expect(holders.isGone(right.joined.process)).toBe(false);
    const isFound = new Promise<void>((resolve) => void holders.watch(resolve));
    right.link.close();
    await isFound;
    expect(holders.isGone(right.joined.process)).toBe(true);
    expect(holders.isGone(left.joined.process)).toBe(false);
  });

  it("are told of a fault of the store as their own store would tell them", async () => {
    const full = alterStore(createMemoryStore(), {
      commit: () => Promise.reject(new StoreUnavailableError("full", new Error("no room"))),
    });
    const { shared } = makeParent(full);
    const { items } = await join(shared, "1");
    const put = items.put("key", "one");
    await expect(put).rejects.toThrow(StoreUnavailableError);
    await expect(put).rejects.toMatchObject({ kind: "full" });
  });

  it("are told at their start where chains end, and of events that may not be stored", async () => {
    const { chains, shared } = makeParent();
    const { link, node, store } = await join(shared, "1");
    await serve({ link, store });
    await node.start();
    const records = new ParentRecords(link, () => node.checkLease());
    const [auditId, jws] = ["1".repeat(64), "e30.e30.c2ln"];
    const chain = { agentId: "a", at: 5, method: "REVOKE", isEvent: true } as const;
    await records.append({
      records: [{ auditId, jws, chain }],
      expected: new Map([["a", NO_AUDIT_ID]]),
    });
    expect([...(await records.headsOf(["a", "b"]))]).toEqual([
      ["a", { auditId, at: 5, method: "REVOKE" }],
    ]);
    expect(await records.find(auditId)).toBe(jws);
    const other = await join(shared, "2");
    expect(other.joined.heads).toEqual([["a", { auditId, at: 5, method: "REVOKE" }]]);
    expect(other.joined.events).toEqual([{ auditId, jws }]);
    await serve(other);
    await shared.save();
    expect(chains.events).toEqual([]);
  });

  it("are told of an event that came while two asked for everything to be stored", async () => {
    const { chains, shared } = makeParent();
    const worker = await join(shared, "1");
    const { link } = worker;
    await serve(worker);
    const records = new ParentRecords(link, () => undefined);
    const append = async (digit: string, before: string): Promise<string> => {
      const [auditId, jws] = [digit.repeat(64), "e30.e30.c2ln"];
      const chain = { agentId: "a", at: 5, method: "REVOKE", isEvent: true } as const;
      const expected = new Map([["a", before]]);
      await records.append({ records: [{ auditId, jws, chain }], expected });
      return auditId;
    };
    const first = await append("1", NO_AUDIT_ID);
    const asked: (() => void)[] = [];
    link.serve({ save: () => new Promise<void>((done) => asked.push(done)) });
    const saves = [shared.save(), shared.save()];
    await expect.poll(() => asked.length, PATIENCE).toBe(2);
    const later = await append("2", first);
    for (const done of asked) done();
    await Promise.all(saves);
    expect(chains.events.map(({ auditId }) => auditId)).toEqual([later]);
  });
});
