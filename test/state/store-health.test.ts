import Database from "libsql";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { StateNotice } from "../../src/state/notice.ts";
import { migrate } from "../../src/state/sqlite/migrations.ts";
import { createSqliteStore } from "../../src/state/sqlite/store.ts";
import type { Store } from "../../src/state/store.ts";
import { isStoreUnavailable } from "../../src/state/store-fault.ts";

interface Failing {
  readonly database: Database.Database;
  readonly store: Store;
  readonly notices: StateNotice[];
  put(key: string, value?: unknown): Promise<string>;
}

function open(): Failing {
  const database = new Database(":memory:");
  expect(migrate(database)).toBeUndefined();
  const notices: StateNotice[] = [];
  const store = createSqliteStore(database, (notice) => notices.push(notice));
  const put = async (key: string, value: unknown = 1): Promise<string> => {
    try {
      const { kind } = await store.commit([{ kind: "put", collection: "c", key, value }]);
      return kind;
    } catch (error) {
      return isStoreUnavailable(error) ? "unavailable" : String(error);
    }
  };
  return { database, store, notices, put };
}

const told = ({ notices }: Failing): readonly unknown[] =>
  notices.map(({ event, fields }) => [event, fields["kind"]]);

describe("a store that fails", () => {
  it("keeps nothing while it is read-only, says so once, and goes on by itself", async () => {
    const failing = open();
    failing.database.exec("PRAGMA query_only = 1");
    expect([await failing.put("a"), await failing.put("b")]).toEqual([
      "unavailable",
      "unavailable",
    ]);
    expect(told(failing)).toEqual([["store-unavailable", "read-only"]]);
    failing.database.exec("PRAGMA query_only = 0");
    expect(await failing.put("c")).toBe("committed");
    expect((await failing.store.list("c")).map(({ key }) => key)).toEqual(["c"]);
    expect(told(failing)).toEqual([
      ["store-unavailable", "read-only"],
      ["store-available", undefined],
    ]);
  });

  it("keeps nothing by half while it is full, and goes on when there is room", async () => {
    const failing = open();
    failing.database.exec("PRAGMA max_page_count = 20");
    expect(await failing.put("large", "x".repeat(1_000_000))).toBe("unavailable");
    expect(await failing.store.list("c")).toEqual([]);
    expect(told(failing)).toEqual([["store-unavailable", "full"]]);
    failing.database.exec("PRAGMA max_page_count = 1000");
    expect(await failing.put("large", "x".repeat(1_000_000))).toBe("committed");
  });

  it("says so every ten seconds at most where some changes fit and some do not", async () => {
    const failing = open();
    failing.database.exec("PRAGMA max_page_count = 20");
    const both = async (): Promise<void> => {
      expect(await failing.put("large", "x".repeat(1_000_000))).toBe("unavailable");
      expect(await failing.put("small")).toBe("committed");
    };
    for (let round = 0; round < 20; round += 1) await both();
    const once = [
      ["store-unavailable", "full"],
      ["store-available", undefined],
    ];
    expect(told(failing)).toEqual(once);
    const later = performance.now() + 10_000;
    const clock = vi.spyOn(performance, "now").mockReturnValue(later);
    onTestFinished(() => clock.mockRestore());
    for (let round = 0; round < 20; round += 1) await both();
    expect(told(failing)).toEqual([...once, ...once]);
  });

  it("is damaged where an entry is no JSON, and says so once however much else is kept", async () => {
    const failing = open();
    await failing.put("a");
    failing.database.exec("UPDATE entries SET value = '{'");
    for (let count = 0; count < 2; count += 1) {
      const reading = failing.store.get("c", "a");
      await expect(reading).rejects.toSatisfy(isStoreUnavailable);
      expect(await failing.put(`b${count}`)).toBe("committed");
    }
    expect(told(failing)).toEqual([["store-unavailable", "damaged"]]);
  });
});
