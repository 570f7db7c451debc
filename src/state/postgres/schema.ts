/**
 * The tables of a deployment in PostgreSQL, and how they come about: made at the first start where
 * the role may, otherwise a problem shows the statement. Migrations go forward only, one node at a
 * time; a schema of a newer build is refused.
 */
import type { PoolClient } from "pg";
import { codeOf } from "../../base/thrown.ts";
import { quoteName } from "./driver.ts";

/** The version that this build writes. */
const POSTGRES_SCHEMA_VERSION = 1;
/** Whose statements this build relies on. */
const OLDEST_SERVER = 15;
/** Nobody else in a database locks by these two numbers together. */
const MIGRATION_LOCK = [0x41475450, 1];

const TABLES: readonly string[] = ["meta", "entries", "changes", "heads", "records", "nodes"];

/** Why a database cannot be used, at which key of `[store]`, and the way out. */
export interface SchemaFault {
  readonly key: string;
  readonly message: string;
  readonly hint?: string;
}

/** Every table, qualified; all text is compared by its octets. */
export function schemaStatement(schema: string): string {
  const name = quoteName(schema);
  return `CREATE SCHEMA IF NOT EXISTS ${name};
CREATE TABLE ${name}.meta (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
CREATE TABLE ${name}.entries (
  collection text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text NOT NULL,
  revision bigint NOT NULL,
  PRIMARY KEY (collection, key)
);
CREATE TABLE ${name}.changes (
  transaction bigint NOT NULL,
  collection text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (transaction, collection, key)
);
CREATE TABLE ${name}.heads (
  agent_id text COLLATE "C" PRIMARY KEY,
  audit_id text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  method text NOT NULL
);
CREATE TABLE ${name}.records (
  audit_id text COLLATE "C" PRIMARY KEY,
  agent_id text COLLATE "C" NOT NULL,
  number bigint GENERATED ALWAYS AS IDENTITY,
  is_event boolean NOT NULL,
  jws text NOT NULL
);
CREATE INDEX records_number ON ${name}.records (number);
CREATE INDEX records_event ON ${name}.records (number) WHERE is_event;
CREATE TABLE ${name}.nodes (
  node text COLLATE "C" PRIMARY KEY,
  process text NOT NULL,
  address text NOT NULL,
  version text NOT NULL,
  since timestamptz NOT NULL DEFAULT clock_timestamp(),
  beat bigint NOT NULL DEFAULT 0,
  beat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  taken bigint NOT NULL DEFAULT 0,
  lease_ms integer NOT NULL
);
INSERT INTO ${name}.meta VALUES ('schema_version', '${POSTGRES_SCHEMA_VERSION}'), ('base', '0'),
  ('forgotten', '0');`;
}

/** Brings a database to this build's schema; undefined: it can be used. */
export async function prepareSchema(
  client: PoolClient,
  schema: string,
): Promise<SchemaFault | undefined> {
  const server = await readServer(client);
  if (server.version < OLDEST_SERVER) {
    const message = `PostgreSQL ${server.version} is too old: ${OLDEST_SERVER} or newer is needed`;
    return { key: "url", message };
  }
  if (server.encoding !== "UTF8") {
    return { key: "url", message: `the database has the encoding ${server.encoding}, not UTF8` };
  }
  if (server.isReadOnly) {
    const hint = "name the primary: a standby takes no changes";
    return { key: "url", message: "the server is read-only, as a standby is", hint };
  }
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1::int, $2::int)", MIGRATION_LOCK);
    const fault = await makeOrCheck(client, schema);
    await client.query(fault === undefined ? "COMMIT" : "ROLLBACK");
    return fault;
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}

async function readServer(client: PoolClient) {
  const { rows } = await client.query<Record<"version" | "encoding" | "readonly", string>>(
    `SELECT current_setting('server_version_num') AS version,
      current_setting('server_encoding') AS encoding,
      current_setting('transaction_read_only') AS readonly`,
  );
  const [row] = rows;
  return {
    version: Math.floor(Number(row?.version) / 10_000),
    encoding: row?.encoding ?? "",
    isReadOnly: row?.readonly === "on",
  };
}

async function makeOrCheck(client: PoolClient, schema: string): Promise<SchemaFault | undefined> {
  const name = quoteName(schema);
  const rights = await readRights(client, schema);
  if (rights === undefined) return make(client, schema);
  if (!rights.isEnough) {
    const grants = `GRANT USAGE ON SCHEMA ${name} TO ${rights.role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${name} TO ${rights.role}`;
    const message = `the role ${rights.role} may not read and write all tables of the schema "${schema}"`;
    return { key: "schema", message, hint: grants };
  }
  const { rows } = await client.query<{ value: string }>(
    `SELECT value FROM ${name}.meta WHERE name = 'schema_version'`,
  );
  const version = rows[0]?.value ?? "";
  if (!/^[1-9]\d{0,8}$/.test(version)) {
    return { key: "schema", message: `"${schema}" has tables of another program` };
  }
  if (Number(version) > POSTGRES_SCHEMA_VERSION) {
    const message = `"${schema}" has schema version ${version}, this build knows ${POSTGRES_SCHEMA_VERSION} at most`;
    return { key: "schema", message };
  }
  await adoptNumbers(client, name);
  return undefined;
}

/** The role, and whether it may do what a daemon does; undefined: there are no tables. */
async function readRights(
  client: PoolClient,
  schema: string,
): Promise<{ readonly role: string; readonly isEnough: boolean } | undefined> {
  const { rows } = await client.query<{ role: string; enough: boolean; tables: string }>(
    `SELECT quote_ident(current_user) AS role, count(*) FILTER (WHERE c.relname = 'meta') AS tables,
        bool_and(has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
          AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
          AND has_table_privilege(c.oid, 'DELETE')) AS enough
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relname = ANY($2)`,
    [schema, TABLES],
  );
  const [row] = rows;
  if (row === undefined || row.tables === "0") return undefined;
  return { role: row.role, isEnough: row.enough };
}

async function make(client: PoolClient, schema: string): Promise<SchemaFault | undefined> {
  const statement = schemaStatement(schema);
  try {
    await client.query("SAVEPOINT making");
    await client.query(statement);
    return undefined;
  } catch (error) {
    if (codeOf(error) !== "42501") throw error;
    await client.query("ROLLBACK TO making");
    const hint = `let a role that may run this, and grant this one USAGE on the schema and SELECT, INSERT, UPDATE, DELETE on its tables:\n${statement}`;
    const message = `the role may not make the schema "${schema}"`;
    return { key: "schema", message, hint };
  }
}

/** A database that was restored from a dump counts its transactions anew: numbers go on all the same. */
async function adoptNumbers(client: PoolClient, name: string): Promise<void> {
  await client.query(`WITH newest AS (
      SELECT greatest(
        (SELECT coalesce(max(transaction), 0) FROM ${name}.changes),
        (SELECT value::bigint FROM ${name}.meta WHERE name = 'forgotten')
      ) AS number
    ), current AS (SELECT pg_current_xact_id()::text::bigint AS number)
    UPDATE ${name}.meta SET value = (newest.number - current.number + 1)::text
    FROM newest, current
    WHERE name = 'base' AND newest.number >= current.number + value::bigint`);
}
