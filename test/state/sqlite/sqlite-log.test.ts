import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../../src/base/problem.ts";
import { openStore } from "../../../src/state/open-store.ts";
import { openSqliteFile } from "../../../src/state/sqlite/file.ts";
import { findLogDamage } from "../../../src/state/sqlite/log.ts";
import { releaseDatabase } from "../../../src/state/sqlite/store.ts";
import { makeDirectory } from "../../support/directory.ts";
import { flipOctet, leaveCommits } from "../../support/killed-store.ts";
import { openTestStore } from "../../support/store.ts";

const COMMITS = 12;
const FRAME = 24 + 4096;

async function makeKilled(): Promise<string> {
  const path = join(makeDirectory(), "state.db");
  await leaveCommits(path, COMMITS);
  return path;
}

/** Another copy of a killed store. */
function copyOf(path: string): string {
  const copy = join(makeDirectory(), "state.db");
  for (const suffix of ["", "-wal"]) copyFileSync(path + suffix, copy + suffix);
  return copy;
}

const sizeOf = (path: string): number => statSync(path).size;

async function commitsIn(path: string): Promise<number> {
  const store = await openTestStore("sqlite", path);
  const { length } = await store.list("left");
  await store.close();
  return length;
}

describe("the log of a store", () => {
  it("holds after a kill, wherever its end was torn off", async () => {
    const path = await makeKilled();
    expect(findLogDamage(path)).toBeUndefined();
    const size = sizeOf(`${path}-wal`);
    for (let cut = 0; cut <= size; cut += 701) {
      truncateSync(`${path}-wal`, size - cut);
      expect(findLogDamage(path), `${size - cut}`).toBeUndefined();
    }
    expect(await commitsIn(path)).toBe(0);
  });

  it("is never the reason why more than the last commit is lost: such a start is refused", async () => {
    const path = await makeKilled();
    const size = sizeOf(`${path}-wal`);
    let refused = 0;
    for (let at = 0; at < size; at += 911) {
      const copy = copyOf(path);
      flipOctet(`${copy}-wal`, at);
      if (findLogDamage(copy) !== undefined) refused += 1;
      else expect(await commitsIn(copy), `${at}`).toBeGreaterThanOrEqual(COMMITS - 1);
    }
    expect(refused).toBeGreaterThan((0.8 * size) / 911);
  });

  it("is named with the place, and left as it is", async () => {
    const path = await makeKilled();
    flipOctet(`${path}-wal`, 32 + 5 * FRAME + 1000);
    const before = readFileSync(`${path}-wal`);
    const { problems } = await openStore({ driver: "sqlite", path }, "agtp-server.toml");
    expect((problems ?? []).map(formatProblem)).toEqual([
      `agtp-server.toml: store.path: "${path}" is damaged: its log "state.db-wal" does not hold from octet ${32 + 5 * FRAME} on, and commits behind that would be lost (put back a copy of both, or go on without: agtp-keys repair --config agtp-server.toml)`,
    ]);
    expect(readFileSync(`${path}-wal`)).toEqual(before);
  });

  it("is judged by its newest beginning, whatever older frames stand behind", async () => {
    const path = join(makeDirectory(), "state.db");
    const { database } = await openSqliteFile(path, Database);
    const put = (key: number): void =>
      void database?.exec(
        `INSERT INTO entries VALUES ('c', 'k${key}', '"${"x".repeat(3000)}"', 1)`,
      );
    for (let key = 0; key < 20; key += 1) put(key);
    database?.exec("PRAGMA wal_checkpoint(RESTART)");
    const size = sizeOf(`${path}-wal`);
    for (let key = 20; key < 25; key += 1) put(key);
    expect(sizeOf(`${path}-wal`)).toBe(size);
    const copy = copyOf(path);
    if (database !== undefined) releaseDatabase(database);
    expect(findLogDamage(copy)).toBeUndefined();
    const other = copyOf(copy);
    flipOctet(`${other}-wal`, 32 + 1000);
    expect(findLogDamage(other)).toEqual({ offset: 32 });
    // What stands behind the newest commits was in the database before.
    flipOctet(`${copy}-wal`, size - 1000);
    expect(findLogDamage(copy)).toBeUndefined();
  });

  it("need not be there, and may be no file", () => {
    const path = join(makeDirectory(), "state.db");
    expect(findLogDamage(path)).toBeUndefined();
    mkdirSync(`${path}-wal`);
    expect(() => findLogDamage(path)).toThrow("EISDIR");
    expect(existsSync(path)).toBe(false);
  });
});
