/**
 * Two writers over one store, random operations, commits that fail before or after they are made, and
 * processes that end between the store and their view: what was acknowledged is there, nobody saw
 * what is not, and every view that has caught up shows what the store has.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Collection } from "../../src/state/collection.ts";
import type { Store } from "../../src/state/store.ts";
import { type CommitFault, failingStore } from "../support/hearing-nodes.ts";
import { alterStore, openTestStore } from "../support/store.ts";

interface Counter {
  readonly owner: string;
  readonly count: number;
}

interface Operation {
  readonly kind: "add" | "change" | "draft" | "put" | "delete" | "reopen" | "refresh";
  readonly writer: 0 | 1;
  readonly key: string;
  readonly isEarly: boolean;
  readonly fault: CommitFault;
  /** Begun together with the one after it. */
  readonly isConcurrent: boolean;
}

const OPERATION: fc.Arbitrary<Operation> = fc.record({
  kind: fc.constantFrom("add", "change", "change", "draft", "put", "delete", "reopen", "refresh"),
  writer: fc.constantFrom(0, 1),
  key: fc.constantFrom("a", "b", "c", "d", "e", "f"),
  isEarly: fc.boolean(),
  fault: fc.constantFrom("none", "none", "none", "before", "after"),
  isConcurrent: fc.boolean(),
});

const ON_A = { writer: 0, key: "a", isEarly: true, isConcurrent: false } as const;

/** Both are begun, and neither is stored. */
const EARLY_OVER_EARLY: Operation[] = [
  { ...ON_A, kind: "draft", fault: "before", isConcurrent: true },
  { ...ON_A, kind: "delete", fault: "before" },
];

/** The feed tells of a deletion before it is known that its answer was lost. */
const GONE_UNANSWERED: Operation[] = [
  { ...ON_A, kind: "add", fault: "none" },
  { ...ON_A, kind: "refresh", fault: "none", isConcurrent: true },
  { ...ON_A, kind: "delete", fault: "after" },
];

const PER_OWNER = 3;

class Writer {
  readonly #store: Store;
  collection!: Collection<Counter>;
  /** Of the next commit. */
  fault: CommitFault = "none";

  constructor(store: Store) {
    this.#store = failingStore(store, this);
  }

  async open(): Promise<void> {
    this.collection = await Collection.open(this.#store, {
      name: "counters",
      read: (value) => value as Counter,
      ownerOf: ({ owner }) => owner,
      quota: { perOwner: PER_OWNER },
    });
  }

  /** How much was added to a counter's count, and acknowledged. */
  async run({ kind, key, isEarly, fault }: Operation): Promise<number> {
    const { collection } = this;
    const owner = key < "d" ? "left" : "right";
    this.fault = kind === "reopen" || kind === "refresh" ? "none" : fault;
    switch (kind) {
      case "add":
        await collection.add(key, { owner, count: 0 });
        return 0;
      case "change": {
        const grow = (one: Counter): Counter => ({ ...one, count: one.count + 1 });
        const { isChanged } = await collection.change(key, grow, { isEarly });
        return isChanged ? 1 : 0;
      }
      case "draft": {
        if (collection.get(key) !== undefined) return 0;
        const draft = collection.draft(key, { owner, count: 0 }, { isEarly });
        try {
          const outcome = await this.#store.commit(draft?.changes ?? []);
          if (outcome.kind === "committed") draft?.settle(outcome.revision);
        } finally {
          draft?.release();
        }
        return 0;
      }
      case "put":
        await collection.put(key, { owner, count: 0 });
        return 0;
      case "delete":
        await (isEarly ? collection.deleteEverywhere([key]) : collection.delete([key]));
        return 0;
      case "reopen":
        await this.open();
        return 0;
      case "refresh":
        await collection.refresh();
        return 0;
    }
  }
}

async function contentOf(store: Store): Promise<Readonly<Record<string, unknown>>> {
  const entries = await store.list("counters");
  return Object.fromEntries(entries.map(({ key, value }) => [key, value]));
}

function viewOf({ collection }: Writer): Readonly<Record<string, unknown>> {
  const keys = ["a", "b", "c", "d", "e", "f"].filter((key) => collection.get(key) !== undefined);
  return Object.fromEntries(keys.map((key) => [key, collection.get(key)]));
}

describe.each([
  ["memory", 300],
  ["sqlite", 25],
] as const)("two writers of a collection in a store of driver %s", (driver, numRuns) => {
  it("agree with the store on everything once they have caught up", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(OPERATION, { maxLength: 40 }), async (operations) => {
        const store = await openTestStore(driver);
        const writers = [new Writer(store), new Writer(store)] as const;
        for (const writer of writers) await writer.open();
        let running: Promise<unknown>[] = [];
        for (const operation of operations) {
          running.push(writers[operation.writer].run(operation).catch(() => undefined));
          if (operation.isConcurrent && operation.kind !== "reopen") continue;
          await Promise.all(running);
          running = [];
        }
        await Promise.all(running);
        for (const writer of writers) await writer.collection.refresh();
        const content = await contentOf(store);
        for (const writer of writers) {
          expect(viewOf(writer)).toEqual(content);
          expect(writer.collection.size).toBe(Object.keys(content).length);
          for (const owner of ["left", "right"]) {
            expect(writer.collection.ofOwner(owner)).toHaveLength(
              Object.keys(content).filter((key) => key < "d" === (owner === "left")).length,
            );
          }
        }
      }),
      { numRuns, examples: [[EARLY_OVER_EARLY], [GONE_UNANSWERED]] },
    );
  });

  it("lose no change that was acknowledged, and make none twice", async () => {
    const writes = ["put", "draft"];
    const changes = OPERATION.filter(
      ({ kind, fault }) => !writes.includes(kind) && fault !== "after",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(changes, { maxLength: 40 }), async (operations) => {
        const store = await openTestStore(driver);
        const writers = [new Writer(store), new Writer(store)] as const;
        for (const writer of writers) await writer.open();
        await writers[0].collection.add("a", { owner: "left", count: 0 });
        await writers[1].collection.refresh();
        const onOne = operations.filter(({ kind }) => kind !== "delete" && kind !== "add");
        const grown = await Promise.all(
          onOne
            .filter(({ kind }) => kind === "change")
            .map((one) => writers[one.writer].run({ ...one, key: "a" }).catch(() => 0)),
        );
        const total = grown.reduce((sum, one) => sum + one, 0);
        expect(await store.get("counters", "a")).toEqual({ owner: "left", count: total });
      }),
      { numRuns },
    );
  });
});

interface Sized {
  readonly owner: string;
  readonly size: number;
}

interface SizedOperation {
  readonly kind: "add" | "grow" | "delete" | "reopen";
  readonly key: string;
  readonly size: number;
  readonly fault: CommitFault;
  readonly isConcurrent: boolean;
}

const SIZED_OPERATION: fc.Arbitrary<SizedOperation> = fc.record({
  kind: fc.constantFrom("add", "add", "grow", "grow", "grow", "delete", "reopen"),
  key: fc.stringMatching(/^[abc][0-5]$/),
  size: fc.integer({ min: 1, max: 40 }),
  fault: fc.constantFrom("none", "none", "none", "before"),
  isConcurrent: fc.boolean(),
});

const SIZED_QUOTA = {
  ...{ perOwner: 4, all: 8, charactersPerOwner: 50, characters: 90 },
  ...{ takesFromLargest: true, refusesNothing: true },
};

class SizedWriter {
  readonly #store: Store;
  collection!: Collection<Sized>;
  fault: CommitFault = "none";

  constructor(store: Store) {
    this.#store = alterStore(store, {
      commit: async (...args) => {
        const { fault } = this;
        this.fault = "none";
        if (fault !== "none") throw new Error("not written");
        return store.commit(...args);
      },
    });
  }

  async open(): Promise<void> {
    this.collection = await Collection.open(this.#store, {
      name: "sized",
      read: (value) => value as Sized,
      ownerOf: (_, key) => key.slice(0, 1),
      quota: SIZED_QUOTA,
      sizeOf: ({ size }) => size,
      withoutSize: (one) => ({ ...one, size: 0 }),
      changesOnDelete: (_, key) => [{ kind: "delete", collection: "bodies", key }],
    });
  }

  async run({ kind, key, size, fault }: SizedOperation): Promise<void> {
    const { collection } = this;
    this.fault = fault;
    const also = [{ kind: "put", collection: "bodies", key, value: size }] as const;
    if (kind === "add") await collection.add(key, { owner: key.slice(0, 1), size: 0 });
    if (kind === "grow") {
      await collection.change(key, (one) => ({ ...one, size }), { also, makesRoom: true });
    }
    if (kind === "delete") await collection.delete([key]);
    if (kind === "reopen") await this.open();
  }
}

describe.each([
  ["memory", 300],
  ["sqlite", 25],
] as const)("what grows in a collection in a store of driver %s", (driver, numRuns) => {
  it("stays within every bound, and has a body exactly where it has a size", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(SIZED_OPERATION, { maxLength: 40 }), async (operations) => {
        const store = await openTestStore(driver);
        const writer = new SizedWriter(store);
        await writer.open();
        let running: Promise<unknown>[] = [];
        for (const operation of operations) {
          if (operation.kind === "reopen") await Promise.all(running);
          running.push(writer.run(operation).catch(() => undefined));
          if (operation.isConcurrent && operation.kind !== "reopen") continue;
          await Promise.all(running);
          running = [];
          const sizes = new Map<string, number>();
          for (const { key, value } of await store.list("sized")) {
            sizes.set(key, (value as Sized).size);
            expect(writer.collection.get(key)).toEqual(value);
          }
          expect(writer.collection.size).toBe(sizes.size);
          const bodies = (await store.list("bodies")).map(({ key }) => key);
          expect(bodies).toEqual([...sizes.keys()].filter((key) => sizes.get(key) !== 0));
          expect(sizes.size).toBeLessThanOrEqual(SIZED_QUOTA.all);
          expect(sum(sizes.values())).toBeLessThanOrEqual(SIZED_QUOTA.characters);
          for (const owner of ["a", "b", "c"]) {
            const own = [...sizes].filter(([key]) => key.startsWith(owner));
            expect(own.length).toBeLessThanOrEqual(SIZED_QUOTA.perOwner);
            const most = SIZED_QUOTA.charactersPerOwner;
            expect(sum(own.map(([, size]) => size))).toBeLessThanOrEqual(most);
          }
        }
        await Promise.all(running);
      }),
      { numRuns },
    );
  });
});

function sum(sizes: Iterable<number>): number {
  return [...sizes].reduce((total, size) => total + size, 0);
}
