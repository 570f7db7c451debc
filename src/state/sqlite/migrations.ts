/**
 * The schema of a database file, and its migrations. A file is migrated to this build's version in one transaction;
 * one of a newer build or another program is refused unchanged.
 */
import type { Database } from "libsql";

/** The application id in the header of an AGTP database: "AGTP". */
export const APPLICATION_ID: number = 0x41475450;

/** Step n migrates version n to n + 1; a published step is never changed. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
   CREATE TABLE entries (
     collection TEXT NOT NULL,
     key TEXT NOT NULL,
     value TEXT NOT NULL,
     PRIMARY KEY (collection, key)
   ) STRICT;`,
  // Entries stored before revisions were counted get the first one.
  `ALTER TABLE entries ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
   INSERT INTO meta VALUES ('revision', '1');`,
];

/** The version that this build writes. */
export const SCHEMA_VERSION: number = MIGRATIONS.length;

/** Migrates a database to this build's version; returns the reason if that is impossible. */
export function migrate(database: Database): string | undefined {
  const version = readVersion(database);
  if (typeof version === "string") return version;
  if (version > SCHEMA_VERSION) {
    return `has schema version ${version}, this build knows ${SCHEMA_VERSION} at most`;
  }
  if (version === SCHEMA_VERSION) return undefined;
  // One script in a transaction, so that a failed step leaves nothing behind.
  database.exec(
    [
      "BEGIN IMMEDIATE;",
      `PRAGMA application_id = ${APPLICATION_ID};`,
      ...MIGRATIONS.slice(version),
      `INSERT INTO meta VALUES ('schema_version', '${SCHEMA_VERSION}')
         ON CONFLICT DO UPDATE SET value = excluded.value;`,
      "COMMIT;",
    ].join("\n"),
  );
  return undefined;
}

/** Returns the version, 0 for an empty database, or the reason why the database is not usable. */
function readVersion(database: Database): number | string {
  const tables = readColumn(database, "SELECT name FROM sqlite_schema WHERE type = 'table'");
  if (tables.length === 0) return 0;
  const [applicationId] = readColumn(database, "PRAGMA application_id");
  if (applicationId !== APPLICATION_ID) return "is the database of another program";
  const [version] = tables.includes("meta")
    ? readColumn(database, "SELECT value FROM meta WHERE name = 'schema_version'")
    : [];
  if (!/^[1-9]\d{0,8}$/.test(String(version))) return "is damaged: it has no schema version";
  return Number(version);
}

function readColumn(database: Database, sql: string): readonly unknown[] {
  const rows = database.prepare(sql).raw().all() as readonly (readonly unknown[])[];
  return rows.map(([value]) => value);
}
