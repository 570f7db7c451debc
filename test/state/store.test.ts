/** What every driver promises, whichever an operator chooses. */
import { describe, expect, it } from "vitest";
import { MAX_NAME_BYTES, MAX_VALUE_BYTES } from "../../src/state/entry-limits.ts";
import { type Change, readAll, type Store } from "../../src/state/store.ts";
import { describeWithPostgres, openPostgres, postgres } from "../support/postgres.ts";
import { openTestStore } from "../support/store.ts";

const put = (key: string, value: unknown = key, collection = "c"): Change => ({
  kind: "put",
  collection,
  key,
  value,
});
const remove = (key: string, collection = "c"): Change => ({ kind: "delete", collection, key });

async function keysOf(store: Store, range = {}): Promise<readonly string[]> {
  return (await store.list("c", range)).map(({ key }) => key);
}

describe.each(["memory", "sqlite"] as const)("a store of driver %s", (driver) => {
  describeStore(() => openTestStore(driver));
});

describeWithPostgres("a store of driver postgres", () => {
  describeStore(async () => openPostgres(await postgres().makeDatabase()));
});

/** The revision of a commit that must have been made. */
async function commit(store: Store, changes: readonly Change[]): Promise<number> {
  const outcome = await store.commit(changes);
  if (outcome.kind !== "committed") throw new Error("the commit met a conflict");
  return outcome.revision;
}

function describeStore(open: () => Promise<Store>): void {
  it("gives back what was put, and undefined for what was not", async () => {
    const store = await open();
    const value = { a: [1, 2.5, null, true, "ü\u0000\ud800😀"], b: { c: {} } };
    await store.commit([put("k", value), put("null", null)]);
    expect(await store.get("c", "k")).toEqual(value);
    expect(await store.get("c", "null")).toBeNull();
    expect(await store.get("c", "other")).toBeUndefined();
    expect(await store.get("other", "k")).toBeUndefined();
  });

  it("is read whole in pages, with everybody else's turn in between", async () => {
    const store = await open();
    const keys = Array.from({ length: 1_200 }, (_, index) => String(index).padStart(4, "0"));
    await store.commit(keys.map((key) => put(key)));
    const turns = new Set<number>();
    let turn = 0;
    let looking = setImmediate(function look() {
      turn += 1;
      looking = setImmediate(look);
    });
    const read: string[] = [];
    for await (const { key } of readAll(store, "c")) {
      read.push(key);
      turns.add(turn);
    }
    clearImmediate(looking);
    expect(read).toEqual(keys);
    expect(turns.size).toBeGreaterThan(2);
  });

  it("overwrites and deletes, in the order of the changes", async () => {
    const store = await open();
    await store.commit([put("k", 1), put("k", 2), put("gone"), remove("gone"), remove("never")]);
    expect(await store.list("c")).toMatchObject([{ key: "k", value: 2 }]);
    await store.commit([remove("k"), put("k", 3)]);
    expect(await store.get("c", "k")).toBe(3);
    await store.commit([remove("k")]);
    expect(await store.list("c")).toEqual([]);
  });

  it("keeps a copy of a value, and hands out copies", async () => {
    const store = await open();
    const value = { list: [1] };
    const committed = store.commit([put("k", value)]);
    value.list.push(2);
    await committed;
    const read = (await store.get("c", "k")) as typeof value;
    read.list.push(3);
    for (const { value: listed } of await store.list("c")) (listed as typeof value).list.push(4);
    expect(await store.get("c", "k")).toEqual({ list: [1] });
  });

  it("keeps what JSON says of a value", async () => {
    const store = await open();
    await store.commit([put("k", { date: new Date(0), nan: Number.NaN, none: undefined })]);
    expect(await store.get("c", "k")).toEqual({ date: "1970-01-01T00:00:00.000Z", nan: null });
  });

  it("takes the names of JavaScript's own members for names", async () => {
    const store = await open();
    const names = ["__proto__", "constructor", "toString"];
    expect(await store.get("__proto__", "constructor")).toBeUndefined();
    expect(await store.list("constructor")).toEqual([]);
    await store.commit(names.flatMap((name) => names.map((key) => put(key, { key }, name))));
    for (const name of names) {
      expect((await store.list(name)).map(({ key }) => key)).toEqual([...names].sort());
    }
    const hostile: unknown = JSON.parse('{"__proto__": {"isAdmin": true}}');
    await store.commit([put("k", hostile)]);
    const read = (await store.get("c", "k")) as { isAdmin?: boolean };
    expect(read.isAdmin).toBeUndefined();
    expect(JSON.stringify(read)).toBe('{"__proto__":{"isAdmin":true}}');
  });

  it("orders keys by their UTF-8 octets, not by UTF-16 units", async () => {
    const store = await open();
    const keys = ["Z", "a", "aa", "b", "é", "\ud7ff", "\ue000", "\uffff", "😀", "\u{10ffff}"];
    await store.commit([...keys].reverse().map((key) => put(key)));
    expect(await keysOf(store)).toEqual(keys);
    expect(await keysOf(store, { isReversed: true })).toEqual([...keys].reverse());
    expect(await keysOf(store, { after: "\uffff" })).toEqual(["😀", "\u{10ffff}"]);
    expect(await keysOf(store, { after: "\ue000", isReversed: true })).toEqual(
      keys.slice(0, 6).reverse(),
    );
  });

  it("lists by prefix, exclusive start, limit and direction", async () => {
    const store = await open();
    await store.commit(["a", "b", "b:1", "b:2", "b:3", "c"].map((key) => put(key)));
    const cases: readonly (readonly [object, readonly string[]])[] = [
      [{ prefix: "b" }, ["b", "b:1", "b:2", "b:3"]],
      [{ prefix: "b:" }, ["b:1", "b:2", "b:3"]],
      [{ prefix: "b:", after: "b:1" }, ["b:2", "b:3"]],
      [{ prefix: "b:", after: "a" }, ["b:1", "b:2", "b:3"]],
      [{ prefix: "b:", after: "c" }, []],
      [{ prefix: "b:", limit: 2 }, ["b:1", "b:2"]],
      [{ prefix: "b:", limit: 2, isReversed: true }, ["b:3", "b:2"]],
      [{ prefix: "b:", after: "b:3", isReversed: true }, ["b:2", "b:1"]],
      [{ prefix: "b:", after: "c", isReversed: true, limit: 1 }, ["b:3"]],
      [{ prefix: "b:", after: "a", isReversed: true }, []],
      [{ after: "b:25", limit: 1 }, ["b:3"]],
      [{ limit: 0 }, []],
      [{ prefix: "x" }, []],
      [{ prefix: "", after: "" }, ["a", "b", "b:1", "b:2", "b:3", "c"]],
    ];
    for (const [range, expected] of cases)
      expect(await keysOf(store, range), JSON.stringify(range)).toEqual(expected);
  });

  it.each([
    ["\ud7ff", ["\ud7ff", "\ud7ff1"]],
    ["\u{10ffff}", ["\u{10ffff}", "\u{10ffff}1"]],
    ["a\u{10ffff}", ["a\u{10ffff}", "a\u{10ffff}1"]],
  ])(
    "finds the keys with the prefix %j, which has no plain successor",
    async (prefix, expected) => {
      const store = await open();
      const others = ["\ud7fe", "\ue000", "a", "b", "\u{10fffe}1"];
      await store.commit([...others, ...expected].map((key) => put(key)));
      expect(await keysOf(store, { prefix })).toEqual(expected);
      expect(await keysOf(store, { prefix, isReversed: true })).toEqual([...expected].reverse());
    },
  );

  it("does not take % and _ in a prefix for wildcards, nor digits for numbers", async () => {
    const store = await open();
    await store.commit(["%", "_", "a", "1", "10", "2", "1.0"].map((key) => put(key)));
    expect(await keysOf(store, { prefix: "%" })).toEqual(["%"]);
    expect(await keysOf(store, { prefix: "_" })).toEqual(["_"]);
    expect(await keysOf(store, { prefix: "1" })).toEqual(["1", "1.0", "10"]);
  });

  it("changes nothing when one of the changes cannot be made", async () => {
    const store = await open();
    await store.commit([put("k", 1)]);
    const bad: readonly Change[] = [put("k", () => 1), put("", 1), put("k", 1n)];
    for (const change of bad) {
      await expect(store.commit([put("k", 2), put("new"), change])).rejects.toThrow();
    }
    expect(await store.list("c")).toMatchObject([{ key: "k", value: 1 }]);
  });

  it("throws for names that no driver could keep apart, or that have no bound", async () => {
    const store = await open();
    const longest = "é".repeat(MAX_NAME_BYTES / 2);
    await store.commit([put(longest, 1, longest)]);
    expect(await store.get(longest, longest)).toBe(1);
    for (const name of ["", "a\0b", "\ud800", `${longest}x`]) {
      const quoted = JSON.stringify(name).slice(0, 20);
      await expect(store.get("c", name), quoted).rejects.toThrow(/^the key .*must/);
      await expect(store.get(name, "k"), quoted).rejects.toThrow(/^the collection .*must/);
      await expect(store.commit([put(name)]), quoted).rejects.toThrow(/^the key .*must/);
      await expect(store.commit([remove(name)]), quoted).rejects.toThrow(/^the key .*must/);
      await expect(store.list(name), quoted).rejects.toThrow(/^the collection .*must/);
      if (name === "") continue;
      await expect(store.list("c", { prefix: name }), quoted).rejects.toThrow(/^the prefix/);
      await expect(store.list("c", { after: name }), quoted).rejects.toThrow(/^the after/);
    }
  });

  it.each([-1, 1.5, Number.NaN, Number.NEGATIVE_INFINITY])(
    "throws for a limit of %s",
    async (limit) => {
      const store = await open();
      await expect(store.list("c", { limit })).rejects.toThrow(`whole number, is ${limit}`);
    },
  );

  it("keeps a value of 16 MiB, and throws for a larger one", async () => {
    const store = await open();
    const largest = "x".repeat(MAX_VALUE_BYTES - 2);
    await store.commit([put("k", largest)]);
    expect(await store.get("c", "k")).toBe(largest);
    await expect(store.commit([put("k", `${largest}x`)])).rejects.toThrow("16777216 octets");
  });

  it("shows a read what was committed before it, awaited or not", async () => {
    const store = await open();
    const commits = [store.commit([put("a", 1)]), store.commit([put("b"), put("a", 2)])];
    const read = store.get("c", "a");
    const listing = store.list("c");
    expect(await read).toBe(2);
    expect(await listing).toHaveLength(2);
    commits.push(store.commit([remove("a")]));
    await Promise.all(commits);
    expect(await keysOf(store)).toEqual(["b"]);
  });

  it("takes a commit of nothing", async () => {
    const store = await open();
    await store.commit([]);
    expect(await store.list("c")).toEqual([]);
  });

  it("numbers its commits, and every entry with the one that put it", async () => {
    const store = await open();
    const first = await commit(store, [put("a"), put("b")]);
    const [second, third] = await Promise.all([
      commit(store, [put("c")]),
      commit(store, [put("a", 2)]),
    ]);
    expect(second).toBeGreaterThan(first);
    expect(third).toBeGreaterThan(second);
    const entries = await store.list("c");
    expect(entries.map(({ key, revision }) => [key, revision])).toEqual([
      ["a", third],
      ["b", first],
      ["c", second],
    ]);
    expect(await store.commit([])).toMatchObject({ kind: "committed" });
  });

  it("makes a commit where all that is expected holds, and none of it otherwise", async () => {
    const store = await open();
    const revision = await commit(store, [put("a"), put("b")]);
    const absent = { collection: "c", key: "new", revision: 0 };
    const held = { collection: "c", key: "a", revision };
    const changes = [put("new"), put("a", 2)];
    const made = await store.commit(changes, [absent, held]);
    expect(made).toMatchObject({ kind: "committed" });
    expect(await store.commit([put("b", 2), put("new", 2)], [absent, held])).toEqual({
      kind: "conflict",
      failed: [absent, held],
    });
    expect(await store.get("c", "b")).toBe("b");
    await store.commit([remove("a")]);
    const gone = { ...held, revision: made.kind === "committed" ? made.revision : 0 };
    expect(await store.commit([put("a", 3)], [gone])).toMatchObject({
      kind: "conflict",
    });
    expect(await store.commit([], [{ ...held, revision: 0 }])).toMatchObject({
      kind: "committed",
    });
  });

  it("lets one of those win that expect the same at the same moment", async () => {
    const store = await open();
    const expectation = { collection: "c", key: "k", revision: 0 };
    const outcomes = await Promise.all(
      [1, 2, 3].map((value) => store.commit([put("k", value)], [expectation])),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(["committed", "conflict", "conflict"]);
    expect(await store.get("c", "k")).toBe(1);
  });

  it("tells which keys have changed since a revision, each once and as it is now", async () => {
    const store = await open();
    const { upTo: start } = await store.changes(0);
    const first = await commit(store, [put("a"), put("b"), put("x", 1, "other")]);
    const { upTo: seen } = await store.changes(start);
    await store.commit([put("a", 2)]);
    const last = await commit(store, [remove("b"), put("a", 3)]);
    const { upTo, changed } = await store.changes(seen);
    expect(upTo).toBeGreaterThanOrEqual(last);
    expect(changed).toEqual([
      { collection: "c", key: "a", entry: { key: "a", value: 3, revision: last } },
      { collection: "c", key: "b", entry: undefined },
    ]);
    expect((await store.changes(start)).changed).toContainEqual({
      ...{ collection: "other", key: "x" },
      entry: { key: "x", value: 1, revision: first },
    });
    expect((await store.changes(upTo)).changed).toEqual([]);
  });

  it("does not say what has changed once that is too much", async () => {
    const store = await open();
    const { upTo: start } = await store.changes(0);
    for (let round = 0; round < 99; round += 1) {
      await store.commit(Array.from({ length: 100 }, (_, at) => put(`${round}.${at}`)));
    }
    const { upTo: seen } = await store.changes(start);
    await store.commit(Array.from({ length: 100 }, (_, at) => put(`last.${at}`)));
    expect(await store.changes(start)).toMatchObject({ changed: undefined });
    expect((await store.changes(seen)).changed).toHaveLength(100);
  });

  it("tells of one collection alone, however much happens in others", async () => {
    const store = await open();
    const { upTo: start } = await store.changes(0);
    await store.commit([put("a"), put("x", 1, "quiet")]);
    for (let round = 0; round < 100; round += 1) {
      await store.commit(Array.from({ length: 100 }, (_, at) => put(`${round}.${at}`)));
    }
    const revision = await commit(store, [put("x", 2, "quiet")]);
    const entry = { key: "x", value: 2, revision };
    const { upTo, changed } = await store.changes(start, "quiet");
    expect(changed).toEqual([{ collection: "quiet", key: "x", entry }]);
    expect((await store.changes(upTo, "quiet")).changed).toEqual([]);
    expect((await store.changes(start, "c")).changed).toBeUndefined();
  });

  it("answers nothing once it is closed, and can be closed twice", async () => {
    const store = await open();
    await store.close();
    await store.close();
    await expect(store.get("c", "k")).rejects.toThrow("the store is closed");
    await expect(store.list("c")).rejects.toThrow("the store is closed");
    await expect(store.commit([put("k")])).rejects.toThrow("the store is closed");
  });
}
