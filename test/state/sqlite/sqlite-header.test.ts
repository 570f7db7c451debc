import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { openStore } from "../../../src/state/open-store.ts";
import { findSqliteFault } from "../../../src/state/sqlite/header.ts";
import { makeDirectory } from "../../support/directory.ts";

/** The database of a store that was used and closed. */
async function makeDatabase(): Promise<string> {
  const path = join(makeDirectory(), "state.db");
  const { store } = await openStore({ driver: "sqlite", path }, "agtp-server.toml");
  await store?.commit([{ kind: "put", collection: "things", key: "a", value: { b: 1 } }]);
  await store?.close();
  return path;
}

describe("findSqliteFault", () => {
  it("finds nothing wrong with a store's database", async () => {
    expect(findSqliteFault(await makeDatabase())).toBeUndefined();
  });

  it("finds nothing wrong with one that was only just begun", () => {
    const path = join(makeDirectory({ "state.db": "" }), "state.db");
    expect(findSqliteFault(path)).toBeUndefined();
  });

  it("sees that it was cut short", async () => {
    const path = await makeDatabase();
    truncateSync(path, 5000);
    expect(findSqliteFault(path)).toBe("is cut short");
    truncateSync(path, 50);
    expect(findSqliteFault(path)).toBe("is cut short");
  });

  it("sees another program's database, and what is none", () => {
    const path = join(makeDirectory(), "state.db");
    const database = new Database(path);
    database.exec("PRAGMA application_id = 7; CREATE TABLE t (a)");
    database.close();
    expect(findSqliteFault(path)).toBe("is the database of another program");
    writeFileSync(path, "x".repeat(4096));
    expect(findSqliteFault(path)).toBe("is not a database");
  });

  it("throws for what cannot be read", () => {
    expect(() => findSqliteFault(join(makeDirectory(), "none"))).toThrow("ENOENT");
  });
});
