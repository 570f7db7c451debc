import Database from "libsql";
import { describe, expect, it } from "vitest";
import { APPLICATION_ID, migrate, SCHEMA_VERSION } from "../../../src/state/sqlite/migrations.ts";

const rows = (database: Database.Database, sql: string): unknown =>
  database.prepare(sql).raw().all();

function setVersion(database: Database.Database, version: string): void {
  database.prepare("UPDATE meta SET value = ? WHERE name = 'schema_version'").run(version);
}

describe("migrate", () => {
  it("makes the schema in an empty database, once", () => {
    const database = new Database(":memory:");
    expect(migrate(database)).toBeUndefined();
    expect(rows(database, "SELECT * FROM meta")).toEqual([
      ["revision", "1"],
      ["schema_version", `${SCHEMA_VERSION}`],
    ]);
    const schema = rows(database, "SELECT sql FROM sqlite_schema");
    expect(migrate(database)).toBeUndefined();
    expect(rows(database, "SELECT sql FROM sqlite_schema")).toEqual(schema);
  });

  it("brings on a database of the first version, with all that is in it", () => {
    const database = new Database(":memory:");
    database.exec(
      `PRAGMA application_id = ${APPLICATION_ID};
       CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
       CREATE TABLE entries (
         collection TEXT NOT NULL,
         key TEXT NOT NULL,
         value TEXT NOT NULL,
         PRIMARY KEY (collection, key)
       ) STRICT;
       INSERT INTO meta VALUES ('schema_version', '1');
       INSERT INTO entries VALUES ('c', 'k', '{"a":1}');`,
    );
    expect(migrate(database)).toBeUndefined();
    expect(rows(database, "SELECT * FROM entries")).toEqual([["c", "k", '{"a":1}', 1]]);
  });

  it("leaves a database alone that a newer build wrote", () => {
    const database = new Database(":memory:");
    migrate(database);
    setVersion(database, `${SCHEMA_VERSION + 1}`);
    expect(migrate(database)).toBe(
      `has schema version ${SCHEMA_VERSION + 1}, this build knows ${SCHEMA_VERSION} at most`,
    );
  });

  it.each(["", "0", "-1", "1.5", "one", "9999999999"])("takes no version %j", (version) => {
    const database = new Database(":memory:");
    migrate(database);
    setVersion(database, version);
    expect(migrate(database)).toBe("is damaged: it has no schema version");
  });

  it("takes no database without a version", () => {
    const database = new Database(":memory:");
    migrate(database);
    database.exec("DROP TABLE meta");
    expect(migrate(database)).toBe("is damaged: it has no schema version");
  });
});
