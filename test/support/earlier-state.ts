/** State files of earlier releases: their entries from a fixture, in the schema that they had then. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "libsql";
import { APPLICATION_ID } from "../../src/state/sqlite/migrations.ts";
import { makeDirectory } from "./directory.ts";

export interface StateFixture {
  readonly madeAt: number;
  /** The revision is there from schema 2 on. */
  readonly rows: readonly (readonly [
    collection: string,
    key: string,
    value: unknown,
    revision?: number,
  ])[];
}

const SCHEMAS = {
  1: `PRIMARY KEY (collection, key)`,
  2: `revision INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (collection, key)`,
};

export function readFixture<Fixture extends StateFixture>(name: string): Fixture {
  const path = join(import.meta.dirname, "../state/fixtures", name);
  return JSON.parse(readFileSync(path, "utf8")) as Fixture;
}

/** Writes the file as the release of that schema left it, and answers where it is. */
export function buildStateFile({ rows }: StateFixture, schema: 1 | 2): string {
  const path = join(makeDirectory(), "state.db");
  const database = new Database(path);
  database.exec(
    `PRAGMA application_id = ${APPLICATION_ID};
     CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
     CREATE TABLE entries (
       collection TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, ${SCHEMAS[schema]}
     ) STRICT;
     INSERT INTO meta VALUES ('schema_version', '${schema}');`,
  );
  if (schema === 2) {
    const revision = Math.max(1, ...rows.map(([, , , one = 1]) => one));
    database.exec(`INSERT INTO meta VALUES ('revision', '${revision}');`);
  }
  const columns = schema === 1 ? "(?, ?, ?)" : "(?, ?, ?, ?)";
  const insert = database.prepare(`INSERT INTO entries VALUES ${columns}`);
  for (const [collection, key, value, revision = 1] of rows) {
    insert.run(collection, key, JSON.stringify(value), ...(schema === 1 ? [] : [revision]));
  }
  database.close();
  return path;
}
