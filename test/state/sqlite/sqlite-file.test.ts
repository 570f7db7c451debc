import { join } from "node:path";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { openSqliteFile } from "../../../src/state/sqlite/file.ts";
import { releaseDatabase } from "../../../src/state/sqlite/store.ts";
import { makeDirectory } from "../../support/directory.ts";

describe("openSqliteFile", () => {
  it("makes commits outlive a loss of power, and keeps everybody else out", async () => {
    const path = join(makeDirectory(), "state.db");
    const { database } = await openSqliteFile(path, Database);
    const read = (pragma: string): unknown => database?.prepare(`PRAGMA ${pragma}`).raw().get();
    expect(read("journal_mode")).toEqual(["wal"]);
    // FULL: the log is synced with every commit, not with a checkpoint only.
    expect(read("synchronous")).toEqual([2]);
    expect(read("locking_mode")).toEqual(["exclusive"]);
    expect(read("busy_timeout")).toEqual([0]);
    if (database !== undefined) releaseDatabase(database);
  });
});
