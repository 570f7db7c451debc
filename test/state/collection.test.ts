/** What every collection promises, whichever driver its store has. */
import { describe, expect, it } from "vitest";
import { Collection } from "../../src/state/collection.ts";
import type { CollectionOptions } from "../../src/state/collection-options.ts";
import { AlsoTakenError, commitDrafts } from "../../src/state/collection-write.ts";
import { FeedWatchers } from "../../src/state/feed-watchers.ts";
import type { Store } from "../../src/state/store.ts";
import { describeWithPostgres, openPostgres, postgres } from "../support/postgres.ts";
import { alterStore, openTestStore } from "../support/store.ts";

interface Note {
  readonly owner: string;
  readonly text: string;
  readonly at: number;
  readonly isOpen?: boolean;
}

const note = (owner: string, text: string, at = 0): Note => ({ owner, text, at });

const OPTIONS: CollectionOptions<Note> = {
  name: "notes",
  read: (value) => (typeof (value as Note).owner === "string" ? (value as Note) : undefined),
  ownerOf: ({ owner }) => owner,
  orderOf: ({ at }) => at,
  rankOf: ({ isOpen }) => (isOpen ? undefined : 0),
};

const openNotes = (
  store: Store,
  options: Partial<CollectionOptions<Note>> = {},
): Promise<Collection<Note>> => Collection.open(store, { ...OPTIONS, ...options });

/** A store whose commits can be made to fail, and to wait before they are made, and before that is known. */
function faultyStore(store: Store) {
  const faulty = {
    isBroken: false,
    gate: Promise.resolve(),
    answer: Promise.resolve(),
    store: alterStore(store, {
      commit: async (changes, expectations) => {
        await faulty.gate;
        if (faulty.isBroken) throw new Error("the disk is full");
        const outcome = await store.commit(changes, expectations);
        await faulty.answer;
        return outcome;
      },
    }),
  };
  return faulty;
}

describe.each(["memory", "sqlite"] as const)("a collection in a store of driver %s", (driver) => {
  describeCollection(() => openTestStore(driver));
});

describeWithPostgres("a collection in a store of driver postgres", () => {
  describeCollection(async () => openPostgres(await postgres().makeDatabase()));
});

function describeCollection(openStore: () => Promise<Store>): void {
  it("finds what was added, by key, by owner and in order", async () => {
    const notes = await openNotes(await openStore());
    await notes.add("z", note("ada", "first", 1));
    await notes.add("a", note("bob", "second", 2));
    await notes.add("m", note("ada", "third", 3));
    expect(notes.get("a")).toEqual(note("bob", "second", 2));
    expect(notes.get("none")).toBeUndefined();
    expect(notes.ofOwner("ada").map(({ text }) => text)).toEqual(["first", "third"]);
    expect(notes.values().map(({ text }) => text)).toEqual(["first", "second", "third"]);
    expect(notes.size).toBe(3);
  });

  it("finds the same after it was opened anew, but for what is no item", async () => {
    const store = await openStore();
    const notes = await openNotes(store);
    await notes.add("z", note("ada", "first", 1));
    await notes.add("a", note("bob", "second", 2));
    await notes.change("z", (one) => ({ ...one, text: "changed" }));
    await store.commit([{ kind: "put", collection: "notes", key: "b", value: { foreign: true } }]);
    const again = await openNotes(store);
    expect(again.values()).toEqual(notes.values());
    expect(again.values().map(({ text }) => text)).toEqual(["changed", "second"]);
  });

  it("shows a write once it is stored, and an early one at once", async () => {
    const faulty = faultyStore(await openStore());
    const notes = await openNotes(faulty.store);
    await notes.add("k", note("ada", "as it was"));
    let open: () => void = () => undefined;
    faulty.gate = new Promise((resolve) => {
      open = resolve;
    });
    const changing = notes.change("k", (one) => ({ ...one, text: "changed" }));
    await Promise.resolve();
    await Promise.resolve();
    expect(notes.get("k")?.text).toBe("as it was");
    open();
    await changing;
    expect(notes.get("k")?.text).toBe("changed");
    faulty.gate = new Promise((resolve) => {
      open = resolve;
    });
    const deleting = notes.deleteEverywhere(["k"]);
    await Promise.resolve();
    expect(notes.get("k")).toBeUndefined();
    open();
    await deleting;
    expect(notes.get("k")).toBeUndefined();
  });

  it("undoes a write that could not be stored, early or not", async () => {
    const store = await openStore();
    const faulty = faultyStore(store);
    const notes = await openNotes(faulty.store, { quota: { perOwner: 1 } });
    await notes.add("k", note("ada", "kept"));
    faulty.isBroken = true;
    const edit = (one: Note): Note => ({ ...one, text: "lost" });
    const broken = [
      () => notes.add("other", note("ada", "lost")),
      () => notes.change("k", edit),
      () => notes.change("k", edit, { isEarly: true }),
      () => notes.delete(["k"]),
      () => notes.deleteEverywhere(["k"]),
      () => notes.put("k", note("ada", "lost")),
    ];
    for (const write of broken) await expect(write()).rejects.toThrow("the disk is full");
    expect(notes.values()).toEqual([note("ada", "kept")]);
    expect(notes.ofOwner("ada")).toEqual([note("ada", "kept")]);
    faulty.isBroken = false;
    expect(await notes.add("other", note("ada", "new"))).toMatchObject({
      kind: "added",
      gone: ["k"],
    });
    expect((await store.list("notes")).map(({ key }) => key)).toEqual(["other"]);
  });

  it("adds one of those that exclude each other, at whichever views of the store they are", async () => {
    const store = await openStore();
    const views = [await openNotes(store), await openNotes(store), await openNotes(store)] as const;
    const addAll = (owner: string) =>
      Promise.all(
        views.map((notes, index) =>
          notes.add(`${owner}-${index}`, note(owner, `of view ${index}`), {
            turn: owner,
            unless: () => notes.ofOwner(owner)[0],
          }),
        ),
      );
    for (const owner of ["ada", "bob"]) {
      const added = await addAll(owner);
      const [winner, ...others] = added.filter(({ kind }) => kind === "added");
      expect(others).toEqual([]);
      const { item } = winner as { readonly item: Note };
      const seen = added.map((adding) => adding.kind !== "full" && adding.item);
      expect(seen).toEqual([item, item, item]);
      await Promise.all(views.map((notes) => notes.refresh()));
      expect(views.map((notes) => notes.ofOwner(owner))).toEqual([[item], [item], [item]]);
    }
    // Once it is gone the next one is let in, and one alone, whoever of them knows that it is gone.
    await views[0].delete(["ada-0", "ada-1", "ada-2"]);
    const again = await addAll("ada");
    expect(again.filter(({ kind }) => kind === "added").length).toBeLessThanOrEqual(1);
    await Promise.all(views.map((notes) => notes.refresh()));
    const last = await addAll("ada");
    expect([...again, ...last].filter(({ kind }) => kind === "added")).toHaveLength(1);
  });

  it("leaves deleted what another deleted before this one heard that it was stored", async () => {
    const store = await openStore();
    const faulty = faultyStore(store);
    const notes = await openNotes(faulty.store);
    const others = await openNotes(store);
    let answer = (): void => undefined;
    faulty.answer = new Promise((resolve) => {
      answer = resolve;
    });
    const adding = notes.add("a", note("ada", "short-lived"));
    while ((await store.get("notes", "a")) === undefined);
    await others.refresh();
    await others.delete(["a"]);
    await notes.refresh();
    answer();
    expect((await adding).kind).toBe("added");
    expect([notes.get("a"), notes.size]).toEqual([undefined, 0]);
    expect(await notes.add("a", note("ada", "again"))).toMatchObject({ kind: "added" });
    expect(notes.get("a")).toEqual(note("ada", "again"));
  });

  it("leaves gone what is gone, though who was asked before that still has it", async () => {
    const store = await openStore();
    const watchers = new FeedWatchers();
    const watch: Store["watch"] = (...args) => watchers.watch(...args);
    const notes = await openNotes(alterStore(store, { watch }));
    const others = await openNotes(store);
    await others.add("b", note("ada", "another"));
    await notes.refresh();
    const { upTo } = await store.changes(0);
    await others.add("a", note("ada", "short-lived"));
    await notes.refresh();
    await watchers.take(
      async () => {
        const feed = await store.changes(upTo);
        await others.delete(["a"]);
        await notes.refresh();
        return feed;
      },
      (feed) => feed,
    );
    expect([notes.get("a"), notes.size]).toEqual([undefined, 1]);
    await others.add("a", note("ada", "again"));
    await notes.refresh();
    expect(notes.get("a")).toEqual(note("ada", "again"));
  });

  it("has the turn of a name as it was read last, though who was asked before that has it older", async () => {
    const store = await openStore();
    const watchers = new FeedWatchers();
    const watch: Store["watch"] = (...args) => watchers.watch(...args);
    const notes = await openNotes(alterStore(store, { watch }));
    const others = await openNotes(store);
    const turn = "ada";
    const { upTo } = await store.changes(0);
    await others.add("a", note("ada", "first"), { turn });
    await watchers.take(
      async () => {
        const feed = await store.changes(upTo);
        await others.add("b", note("ada", "second"), { turn });
        await notes.refresh();
        return feed;
      },
      (feed) => feed,
    );
    expect((await notes.add("c", note("ada", "third"), { turn })).kind).toBe("added");
  });

  it("adds where a stored value was that is no item and is gone, also where all is read anew", async () => {
    const store = await openStore();
    await store.commit([{ kind: "put", collection: "notes", key: "a", value: "no note" }]);
    const changes: Store["changes"] = async (...args) => {
      return { ...(await store.changes(...args)), changed: undefined };
    };
    const notes = await openNotes(alterStore(store, { changes }));
    await store.commit([{ kind: "delete", collection: "notes", key: "a" }]);
    expect((await notes.add("a", note("ada", "a note"))).kind).toBe("added");
  });

  it("keeps a copy of an item", async () => {
    const notes = await openNotes(await openStore());
    const item = { owner: "ada", text: "as it was", at: 0 };
    await notes.add("k", item);
    item.text = "changed";
    expect(notes.get("k")?.text).toBe("as it was");
  });

  it("deletes with an item what is attached to it, however the item goes", async () => {
    const store = await openStore();
    const clock = { now: 0 };
    const notes = await openNotes(store, {
      quota: { perOwner: 2 },
      changesOnDelete: (_, key) => [{ kind: "delete", collection: "texts", key }],
      forgottenAt: ({ at }) => at,
      now: () => clock.now,
    });
    const add = (key: string, at: number): Promise<unknown> =>
      notes.add(key, note("ada", key, at), {
        also: () => [{ kind: "put", collection: "texts", key, value: `the text of ${key}` }],
      });
    const texts = async () => (await store.list("texts")).map(({ key }) => key);
    for (const key of ["a", "b", "c"]) await add(key, 10);
    expect(await texts()).toEqual(["b", "c"]);
    await notes.take("b", () => true);
    expect(await texts()).toEqual(["c"]);
    clock.now = 100_000;
    await add("d", 200_000);
    expect(await texts()).toEqual(["d"]);
    await notes.delete(["d"]);
    expect(await texts()).toEqual([]);
  });

  it("takes in what somebody else committed for it", async () => {
    const store = await openStore();
    const notes = await openNotes(store, { quota: { perOwner: 1 } });
    await notes.add("a", note("ada", "first"));
    const early = notes.refresh();
    const draft = notes.draft("b", note("ada", "second"));
    const other = { kind: "put", collection: "c", key: "k", value: 1 } as const;
    await store.commit([...(draft?.changes ?? []), other]);
    // One refresh that began before must not be taken for one that saw the commit.
    await Promise.all([early, notes.refresh()]);
    draft?.release();
    expect(notes.values()).toEqual([note("ada", "second")]);
    expect((await store.list("notes")).map(({ key }) => key)).toEqual(["b"]);
  });

  it("keeps the room of a draft until that is released, so that none is given twice", async () => {
    const store = await openStore();
    const notes = await openNotes(store, { quota: { all: 2, sparesOthers: true } });
    const first = notes.draft("a", note("ada", "first"));
    const second = notes.draft("b", note("bob", "second"));
    expect(notes.draft("c", note("cid", "third"))).toBeUndefined();
    expect(await notes.add("c", note("cid", "third"))).toEqual({ kind: "full" });
    second?.release();
    expect((await notes.add("c", note("cid", "third"))).kind).toBe("added");
    await store.commit(first?.changes ?? []);
    await notes.refresh();
    first?.release();
    expect(notes.values().map(({ text }) => text)).toEqual(["third", "first"]);
    expect(notes.draft("d", note("dan", "fourth"))).toBeUndefined();
  });

  it("shows an early draft at once, and takes it back where nobody committed it", async () => {
    const store = await openStore();
    const notes = await openNotes(store);
    const other = await openNotes(store);
    const lost = notes.draft("a", note("ada", "lost"), { isEarly: true });
    expect([notes.get("a")?.text, notes.isStored("a")]).toEqual(["lost", false]);
    lost?.release();
    expect(notes.get("a")).toBeUndefined();
    const kept = notes.draft("b", note("ada", "kept"), { isEarly: true });
    // Whatever the store says meanwhile: it is not gone since it is not there yet.
    await other.add("c", note("bob", "other"));
    await notes.refresh();
    expect([notes.get("b")?.text, notes.isStored("b")]).toEqual(["kept", false]);
    const outcome = await store.commit(kept?.changes ?? []);
    if (outcome.kind === "committed") kept?.settle(outcome.revision);
    kept?.release();
    expect([notes.get("b")?.text, notes.isStored("b")]).toEqual(["kept", true]);
    expect((await notes.change("b", (one) => ({ ...one, at: 1 }))).isChanged).toBe(true);
  });

  it("commits no guarded draft of a key that somebody else has written", async () => {
    const store = await openStore();
    const notes = await openNotes(store);
    const other = await openNotes(store);
    await other.add("a", note("bob", "other"));
    const draftBoth = () =>
      ["a", "b"].flatMap((key) => notes.draft(key, note("ada", key), { isGuarded: true }) ?? []);
    expect(await commitDrafts(store, draftBoth(), [])).toBe(false);
    expect([notes.size, await store.get("notes", "b")]).toEqual([0, undefined]);
    await notes.refresh();
    expect(notes.get("a")?.text).toBe("other");
    // It knows of the other's by now.
    expect(await commitDrafts(store, draftBoth(), [])).toBe(true);
    expect(notes.values().map(({ text }) => text)).toEqual(["a", "b"]);
  });

  it("shrinks others for what grows, with what is attached to them, and keeps their keys", async () => {
    const store = await openStore();
    const notes = await openNotes(store, {
      quota: { charactersPerOwner: 10 },
      sizeOf: ({ text }) => text.length,
      withoutSize: (one) => ({ ...one, text: "" }),
      changesOnDelete: (_, key) => [{ kind: "delete", collection: "texts", key }],
    });
    const write = (key: string, text: string): Promise<unknown> =>
      notes.change(key, (one) => ({ ...one, text }), {
        also: [{ kind: "put", collection: "texts", key, value: text }],
        makesRoom: true,
      });
    for (const key of ["a", "b", "c"]) await notes.add(key, note("ada", ""));
    await notes.add("d", note("bob", "another's"));
    for (const key of ["a", "b", "c"]) await write(key, "12345");
    expect(notes.values().map(({ text }) => text)).toEqual(["", "12345", "12345", "another's"]);
    expect((await store.list("texts")).map(({ key }) => key)).toEqual(["b", "c"]);
    await write("b", "123456789012");
    expect((await store.list("texts")).map(({ key }) => key)).toEqual(["b"]);
    expect((await openNotes(store)).values()).toEqual(notes.values());
  });

  it("leaves nothing of what was forgotten to what takes its key", async () => {
    let now = 0;
    const store = await openStore();
    const notes = await openNotes(store, {
      forgottenAt: ({ at }) => at,
      changesOnDelete: (_, key) => [{ kind: "delete", collection: "texts", key }],
      now: () => now,
    });
    const text = { kind: "put", collection: "texts", key: "k", value: "the old one's" } as const;
    await notes.add("k", note("ada", "old", 1_000), { also: [text] });
    now = 2_000;
    expect(await notes.add("k", note("ada", "new", 9_000))).toMatchObject({ kind: "added" });
    expect(await store.list("texts")).toEqual([]);
  });

  it("says what has become another or is gone, also by another collection", async () => {
    const store = await openStore();
    const seen: (string | undefined)[][] = [];
    const notes = await openNotes(store, {
      onChange: (before, after) => void seen.push([before?.text, after?.text]),
    });
    const other = await openNotes(store);
    await notes.add("k", note("ada", "new"));
    await other.refresh();
    await other.change("k", (one) => ({ ...one, text: "changed" }));
    await notes.refresh();
    await notes.delete(["k"]);
    expect(seen).toEqual([
      [undefined, "new"],
      ["new", "changed"],
      ["changed", undefined],
    ]);
  });

  it("replaces a stored value that is no item", async () => {
    const store = await openStore();
    await store.commit([{ kind: "put", collection: "notes", key: "k", value: { foreign: true } }]);
    const notes = await openNotes(store);
    expect(notes.get("k")).toBeUndefined();
    expect(await notes.add("k", note("ada", "mine"))).toMatchObject({ kind: "added" });
    expect((await openNotes(store)).get("k")?.text).toBe("mine");
  });

  it("keeps several items in one commit, decided anew where another collection was faster", async () => {
    const store = await openStore();
    const [ours, theirs] = [await openNotes(store), await openNotes(store)];
    await theirs.put("a", note("bob", "theirs", 1));
    const before = (await store.changes(0)).upTo;
    const other = { kind: "put", collection: "others", key: "o", value: 1 } as const;
    await ours.putAll(
      () => {
        const known = ours.get("a")?.at ?? 0;
        return new Map(["a", "b"].map((key) => [key, note("ada", key, known + 1)]));
      },
      { also: [other] },
    );
    const made = (await store.changes(before)).changed?.map(({ entry }) => entry?.revision);
    expect(made).toHaveLength(3);
    expect(new Set(made).size).toBe(1);
    expect(ours.values().map(({ text, at }) => [text, at])).toEqual([
      ["a", 2],
      ["b", 2],
    ]);
    expect(await store.get("others", "o")).toBe(1);
  });

  it("gives an item to one of many that take it, and to nobody who means another", async () => {
    const store = await openStore();
    const first = await openNotes(store);
    await first.add("k", note("ada", "once"));
    const second = await openNotes(store);
    expect(await first.take("k", ({ text }) => text === "twice")).toBeUndefined();
    const taking = [first, second, first, second].map((notes) => notes.take("k", () => true));
    const taken = (await Promise.all(taking)).filter((one) => one !== undefined);
    expect(taken).toEqual([note("ada", "once")]);
    expect(await store.list("notes")).toEqual([]);
  });

  it("adds a key once, however many add it at the same moment", async () => {
    const notes = await openNotes(await openStore());
    const adding = await Promise.all([1, 2, 3].map((at) => notes.add("k", note("ada", `${at}`))));
    expect(adding.map(({ kind }) => kind)).toEqual(["added", "taken", "taken"]);
    expect(notes.get("k")?.text).toBe("1");
  });

  it("decides each change from the one before it, also where another collection made that", async () => {
    const store = await openStore();
    const views = await Promise.all([openNotes(store), openNotes(store), openNotes(store)]);
    await views[0]!.add("k", note("ada", "", 0));
    const grow = (view: Collection<Note>): Promise<unknown> =>
      view.change("k", (one) => ({ ...one, at: one.at + 1 }));
    await Promise.all(views.map((view) => view.refresh()));
    await Promise.all(Array.from({ length: 60 }, (_, at) => grow(views[at % 3]!)));
    await Promise.all(views.map((view) => view.refresh()));
    expect(views.map((view) => view.get("k")?.at)).toEqual([60, 60, 60]);
  });

  it("stores what belongs to a write together with it, or neither", async () => {
    const store = await openStore();
    const notes = await openNotes(store);
    const bodyOf = (key: string) => ({ kind: "put", collection: "bodies", key, value: 1 }) as const;
    await notes.add("k", note("ada", "x"), { also: [bodyOf("k")] });
    await notes.add("k", note("ada", "x"), { also: [bodyOf("taken")] });
    await notes.change("k", () => undefined, { also: [bodyOf("unchanged")] });
    expect((await store.list("bodies")).map(({ key }) => key)).toEqual(["k"]);
  });

  it("writes nothing where what belongs to it was written by somebody else", async () => {
    const store = await openStore();
    const notes = await openNotes(store);
    const put = (expected: number) =>
      ({ kind: "put", collection: "beside", key: "b", value: "mine", expected }) as const;
    await store.commit([{ kind: "put", collection: "beside", key: "b", value: "theirs" }]);
    const [{ revision } = { revision: 0 }] = await store.list("beside");
    const add = (key: string, expected: number) =>
      notes.add(key, note("ada", key), { also: [put(expected)] });
    await expect(add("k", 0)).rejects.toThrow(AlsoTakenError);
    expect([notes.get("k"), await store.get("beside", "b")]).toEqual([undefined, "theirs"]);
    expect((await add("k", revision)).kind).toBe("added");
    expect(await store.get("beside", "b")).toBe("mine");
  });

  it("makes room with the owner's own, and never with what is open", async () => {
    const notes = await openNotes(await openStore(), { quota: { perOwner: 2, openPerOwner: 2 } });
    await notes.add("a", note("ada", "1"));
    await notes.add("b", { ...note("ada", "2"), isOpen: true });
    await notes.add("x", note("bob", "3"));
    expect(await notes.add("c", { ...note("ada", "4"), isOpen: true })).toMatchObject({
      gone: ["a"],
    });
    expect(await notes.add("d", note("ada", "5"))).toEqual({ kind: "full" });
    expect(notes.values().map(({ text }) => text)).toEqual(["2", "3", "4"]);
  });

  it("gives no room twice to those that come at the same moment", async () => {
    const store = await openStore();
    const notes = await openNotes(store, { quota: { perOwner: 3, openPerOwner: 3 } });
    const adding = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        notes.add(`k${at}`, { ...note("ada", `${at}`), isOpen: true }),
      ),
    );
    expect(adding.filter(({ kind }) => kind === "added")).toHaveLength(3);
    const stored = (await store.list("notes")).filter(({ value }) => OPTIONS.read(value, ""));
    expect(stored).toHaveLength(3);
    const closed = await openNotes(store, { name: "closed", quota: { perOwner: 3 } });
    await Promise.all(
      Array.from({ length: 10 }, (_, at) => closed.add(`k${at}`, note("ada", `${at}`))),
    );
    expect(await store.list("closed")).toHaveLength(3);
    expect(closed.size).toBe(3);
  });

  it("gives no room twice to an owner, at whichever views of the store it asks", async () => {
    // Views of one process take in nothing by themselves: each is told that others write, too.
    const store = alterStore(await openStore(), { watch: () => undefined });
    const options = { quota: { openPerOwner: 3 } };
    const views = await Promise.all([1, 2, 3].map(() => openNotes(store, options)));
    const addAll = (owner: string) =>
      views.flatMap((notes, view) =>
        [1, 2, 3].map((at) =>
          notes.add(`${owner} ${view} ${at}`, { ...note(owner, `${at}`), isOpen: true }),
        ),
      );
    const adding = await Promise.all([...addAll("ada"), ...addAll("bob")]);
    const added = adding.flatMap((one) => (one.kind === "added" ? [one.item.owner] : []));
    expect(added.toSorted()).toEqual(["ada", "ada", "ada", "bob", "bob", "bob"]);
    await Promise.all(views.map((notes) => notes.refresh()));
    expect(views.map((notes) => notes.ofOwner("ada").length)).toEqual([3, 3, 3]);
  });

  it("gives at each view the room of all owners, and none once it has heard of the others'", async () => {
    const store = alterStore(await openStore(), { watch: () => undefined });
    const options = { quota: { open: 2 } };
    const views = await Promise.all([1, 2, 3].map(() => openNotes(store, options)));
    const addAll = (round: number) =>
      Promise.all(
        views.flatMap((notes, view) =>
          ["ada", "bob", "eve"].map((owner) =>
            notes.add(`${owner} ${view} ${round}`, { ...note(owner, ""), isOpen: true }),
          ),
        ),
      );
    const first = await addAll(1);
    expect(first.filter(({ kind }) => kind === "added")).toHaveLength(2 * views.length);
    await Promise.all(views.map((notes) => notes.refresh()));
    const second = await addAll(2);
    expect(second.every(({ kind }) => kind === "full")).toBe(true);
  });

  it("asks once its turn has come whether there is room, and keeps out both by owner and by turn", async () => {
    const store = alterStore(await openStore(), { watch: () => undefined });
    const options = { quota: { openPerOwner: 2 } };
    const views = await Promise.all([1, 2].map(() => openNotes(store, options)));
    const adding = await Promise.all(
      views.flatMap((notes, view) =>
        ["ada", "bob", "eve"].map((owner) =>
          notes.add(
            `${owner} ${view}`,
            { ...note(owner, "in turn"), isOpen: true },
            {
              turn: "all",
              hasRoom: () => notes.size < 4,
            },
          ),
        ),
      ),
    );
    expect(adding.filter(({ kind }) => kind === "added")).toHaveLength(4);
  });

  it("lets everything else have its turn while it is opened with very much in it", async () => {
    const store = await openStore();
    for (let from = 0; from < 20_000; from += 1_000) {
      await store.commit(
        Array.from({ length: 1_000 }, (_, at) => {
          const value = note("ada", `${from + at}`, 20_000 - from - at);
          return { kind: "put", collection: "notes", key: `k${from + at}`, value } as const;
        }),
      );
    }
    let reads = 0;
    let most = 0;
    const read = (value: unknown, key: string): Note | undefined => {
      if (reads === 0) {
        setImmediate(() => {
          reads = 0;
        });
      }
      reads += 1;
      most = Math.max(most, reads);
      return OPTIONS.read(value, key);
    };
    const notes = await openNotes(store, { read });
    expect([notes.size, notes.values()[0]?.text]).toEqual([20_000, "19999"]);
    // Twice each, once for their order.
    expect(most).toBeLessThan(20_000);
  });

  it("finds by its other names the newest that has one, and no older one after that", async () => {
    const indexes = { text: ({ text, isOpen }: Note) => (isOpen ? text : undefined) };
    const store = await openStore();
    const notes = await openNotes(store, { indexes });
    const open = (text: string, at: number): Note => ({ ...note("ada", text, at), isOpen: true });
    await notes.add("a", open("same", 1));
    await notes.add("b", open("same", 2));
    expect(notes.find("text", "same")?.at).toBe(2);
    expect((await openNotes(store, { indexes })).find("text", "same")?.at).toBe(2);
    await notes.change("a", (one) => ({ ...one, owner: "bob" }));
    expect(notes.find("text", "same")?.at).toBe(2);
    await notes.change("b", (one) => ({ ...one, isOpen: false }));
    expect(notes.find("text", "same")).toBeUndefined();
    await notes.change("a", (one) => ({ ...one, text: "other" }));
    expect(notes.find("text", "other")?.at).toBe(1);
    await notes.delete(["a"]);
    expect(notes.find("text", "other")).toBeUndefined();
  });

  it("keeps out what another item excludes, however many come at the same moment", async () => {
    const notes = await openNotes(await openStore());
    const adding = await Promise.all(
      ["a", "b", "c"].map((key) =>
        notes.add(key, note("ada", key), { turn: "ada", unless: () => notes.ofOwner("ada")[0] }),
      ),
    );
    expect(adding.map(({ kind }) => kind)).toEqual(["added", "taken", "taken"]);
  });

  it("does not show what nobody needs any more, and sweeps it away", async () => {
    let now = 1_000;
    const store = await openStore();
    const options = { forgottenAt: ({ at }: Note) => at, now: () => now };
    const notes = await openNotes(store, options);
    await notes.add("old", note("ada", "old", 2_000));
    await notes.add("new", note("ada", "new", 90_000));
    now = 3_000;
    expect(notes.get("old")).toBeUndefined();
    expect(notes.values()).toHaveLength(1);
    expect(await store.list("notes")).toHaveLength(2);
    await notes.sweep();
    expect(await store.list("notes")).toHaveLength(1);
    await notes.add("old", note("ada", "again", 4_000));
    now = 70_000;
    await notes.add("next", note("ada", "next", 99_000));
    expect((await store.list("notes")).map(({ key }) => key)).toEqual(["new", "next"]);
    now = 100_000;
    expect((await openNotes(store, options)).size).toBe(0);
    expect(await store.list("notes")).toEqual([]);
  });

  it("sweeps after the clock has stepped back, and not only when it has caught up", async () => {
    let now = 10_000_000;
    const store = await openStore();
    const options = { forgottenAt: ({ at }: Note) => at, now: () => now };
    const notes = await openNotes(store, options);
    await notes.add("short", note("ada", "short", 5_000_000));
    now = 1_000_000;
    await notes.add("first", note("ada", "first", 1_010_000));
    now = 1_100_000;
    await notes.add("second", note("ada", "second", 99_000_000));
    expect((await store.list("notes")).map(({ key }) => key)).not.toContain("first");
  });

  it("sweeps a few with each item that is added, and all of very many in commits that are not long", async () => {
    const MANY = 3_000;
    let now = 1_000;
    let asked = 0;
    let longest = 0;
    const opened = await openStore();
    const store = alterStore(opened, {
      commit: (changes, expectations) => {
        longest = Math.max(longest, changes.length);
        return opened.commit(changes, expectations);
      },
    });
    const forgottenAt = ({ at }: Note): number => {
      asked += 1;
      return at;
    };
    const old = Array.from(
      { length: MANY },
      (_, index) => [`old-${index}`, note("ada", "", 2_000)] as const,
    );
    const notes = await openNotes(store, { forgottenAt, now: () => now });
    await notes.putAll(() => new Map(old));
    now = 100_000;
    longest = 0;
    let most = 0;
    for (let count = 0; notes.size > count; count += 1) {
      expect(count).toBeLessThan(MANY / 100);
      asked = 0;
      await notes.add(`new-${count}`, note("ada", "", 200_000));
      most = Math.max(most, asked);
    }
    expect(most).toBeLessThan(MANY / 5);
    expect(longest).toBeLessThan(MANY / 5);
    await notes.putAll(() => new Map(old));
    longest = 0;
    await notes.sweep();
    expect(longest).toBeLessThan(MANY / 2);
    expect(notes.size).toBe(notes.values().length);
  });

  it("counts what nobody needs any more for nothing, though it is not swept yet", async () => {
    let now = 1_000;
    const quota = { openPerOwner: 1 };
    const options = { quota, forgottenAt: ({ at }: Note) => at, now: () => now };
    const notes = await openNotes(await openStore(), options);
    const open = (text: string, at: number): Note => ({ ...note("ada", text, at), isOpen: true });
    await notes.add("a", open("a", 2_000));
    expect((await notes.add("b", open("b", 9_000))).kind).toBe("full");
    now = 3_000;
    expect((await notes.add("b", open("b", 9_000))).kind).toBe("added");
  });

  it("moves on in a sweep what is due, and says what that was", async () => {
    const notes = await openNotes(await openStore());
    await notes.add("a", { ...note("ada", "a"), isOpen: true });
    await notes.add("b", note("ada", "b"));
    const close = (one: Note): Note | undefined =>
      one.isOpen ? { ...one, isOpen: false } : undefined;
    expect(await notes.sweep(close)).toEqual([{ ...note("ada", "a"), isOpen: false }]);
    expect(await notes.sweep(close)).toEqual([]);
    expect(notes.get("a")?.isOpen).toBe(false);
  });
}
