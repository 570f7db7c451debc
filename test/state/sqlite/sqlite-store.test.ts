import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { migrate } from "../../../src/state/sqlite/migrations.ts";
import { createSqliteStore, SQL } from "../../../src/state/sqlite/store.ts";
import { makeDirectory } from "../../support/directory.ts";
import { openTestStore } from "../../support/store.ts";

function openDatabase(path: string = ":memory:"): Database.Database {
  const database = new Database(path);
  expect(migrate(database)).toBeUndefined();
  return database;
}

describe("the statements of the SQLite store", () => {
  it.each(["get", "list", "listReversed", "delete"] as const)(
    "let the index of the primary key do the work of %s",
    (name) => {
      const plan = openDatabase().prepare(`EXPLAIN QUERY PLAN ${SQL[name]}`);
      const parameters = name.startsWith("list") ? ["c", "a", "b", 5] : ["c", "k"];
      const steps = (plan.all(...parameters) as { detail: string }[]).map(({ detail }) => detail);
      expect(steps).toHaveLength(1);
      expect(steps[0]).toMatch(
        name.startsWith("list")
          ? /^SEARCH entries USING INDEX \S+ \(collection=\? AND key>\? AND key<\?\)$/
          : /^SEARCH entries USING INDEX \S+ \(collection=\? AND key=\?\)$/,
      );
    },
  );
});

describe("createSqliteStore", () => {
  it("lets a commit that does not fit take no other of its group with it", async () => {
    const database = openDatabase();
    database.exec("PRAGMA max_page_count = 50");
    const store = createSqliteStore(database);
    const put = (key: string, value: string): Promise<unknown> =>
      store.commit([
        { kind: "put", collection: "c", key: `${key}.0`, value: 0 },
        { kind: "put", collection: "c", key, value },
      ]);
    const outcomes = await Promise.allSettled([
      put("a", "small"),
      put("b", "x".repeat(1_000_000)),
      put("c", "small"),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(String((outcomes[1] as PromiseRejectedResult).reason)).toContain("full");
    const keys = (await store.list("c")).map(({ key }) => key);
    expect(keys).toEqual(["a", "a.0", "c", "c.0"]);
    await put("d", "still serves");
  });

  it("writes what was committed before it closes", async () => {
    const path = join(makeDirectory(), "state.db");
    const store = await openTestStore("sqlite", path);
    const committed = store.commit([{ kind: "put", collection: "c", key: "k", value: 1 }]);
    await Promise.all([store.close(), committed]);
    const reopened = await openTestStore("sqlite", path);
    expect(await reopened.get("c", "k")).toBe(1);
  });

  it("counts its revisions on through restarts", async () => {
    const path = join(makeDirectory(), "state.db");
    for (let round = 1; round <= 3; round += 1) {
      const store = await openTestStore("sqlite", path);
      const change = { kind: "put", collection: "c", key: "k", value: round } as const;
      expect(await store.commit([change])).toEqual({ kind: "committed", revision: round + 1 });
      await store.close();
    }
  });

  it("leaves one file behind, and no lock on it", async () => {
    const directory = makeDirectory();
    const path = join(directory, "state.db");
    for (let round = 0; round < 3; round += 1) {
      const store = await openTestStore("sqlite", path);
      expect(await store.list("c")).toHaveLength(round);
      await store.commit([{ kind: "put", collection: "c", key: `k${round}`, value: round }]);
      await store.close();
      expect(readdirSync(directory)).toEqual(["state.db"]);
    }
  });

  it("does not let its log grow without bound while it is read and written", async () => {
    const path = join(makeDirectory(), "state.db");
    const store = await openTestStore("sqlite", path);
    for (let round = 0; round < 200; round += 1) {
      const value = "x".repeat(100_000);
      await store.commit([{ kind: "put", collection: "c", key: `k${round % 5}`, value }]);
      await store.get("c", "k0");
      await store.list("c", { limit: 2 });
    }
    expect(existsSync(`${path}-wal`)).toBe(true);
    expect(statSync(`${path}-wal`).size).toBeLessThan(8_000_000);
  });
});
