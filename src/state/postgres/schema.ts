/**
 * The tables of a deployment in PostgreSQL: created at the first start if the role may, otherwise a problem shows
 * the statement. Migrations go forward only, by one node at a time; a newer build's schema is refused.
 */
import type { PoolClient } from "pg";
import { codeOf } from "../../base/thrown.ts";
import { BEGIN, quoteName } from "./driver.ts";

/** The version that this build writes. */
const POSTGRES_SCHEMA_VERSION = 1;
/** The oldest supported version of PostgreSQL. */
const OLDEST_SERVER = 15;
/** An advisory lock that nobody else in a database uses. */
const MIGRATION_LOCK = [0x41475450, 1];

const TABLES: readonly string[] = ["meta", "entries", "changes", "heads", "records", "nodes"];

/** A problem with a database at a key of `[store]`, with its remedy. */
export interface SchemaFault {
  readonly key: string;
  readonly message: string;
  readonly hint?: string;
}

/** Returns the statements for the schema and its tables; text compares by octets. */
export function schemaStatement(schema: string): string {
  return `CREATE SCHEMA IF NOT EXISTS ${quoteName(schema)};\n${tablesStatement(schema)}`;
}

function tablesStatement(schema: string): string {
  const name = quoteName(schema);
  return `CREATE TABLE ${name}.meta (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
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

/** Brings a database to this build's schema; undefined if it can be used. */
export async function prepareSchema(
  client: PoolClient,
  schema: string,
): Promise<SchemaFault | undefined> {
  const unfit = await findServerFault(client);
  if (unfit !== undefined) return unfit;
  await client.query(BEGIN);
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

/** Describes, read-only, why no daemon would start with a database. */
export async function findStartFault(
  client: PoolClient,
  schema: string,
): Promise<SchemaFault | undefined> {
  const unfit = await findServerFault(client);
  if (unfit !== undefined) return unfit;
  const rights = await readRights(client, schema);
  if (rights.hasTables) return findTablesFault(client, schema, rights);
  return rights.mayMake ? undefined : notMade(schema, rights);
}

async function findServerFault(client: PoolClient): Promise<SchemaFault | undefined> {
  const { rows } = await client.query<Record<"version" | "encoding" | "readonly", string>>(
    `SELECT current_setting('server_version_num') AS version,
      current_setting('server_encoding') AS encoding,
      CASE WHEN pg_is_in_recovery() THEN 'on'
        ELSE current_setting('default_transaction_read_only') END AS readonly`,
  );
  const [{ version, encoding, readonly }] = rows as [(typeof rows)[0]];
  const number = Math.floor(Number(version) / 10_000);
  if (number < OLDEST_SERVER) {
    const message = `PostgreSQL ${number} is too old: ${OLDEST_SERVER} or newer is needed`;
    return { key: "url", message };
  }
  if (encoding !== "UTF8") {
    return { key: "url", message: `the database has the encoding ${encoding}, not UTF8` };
  }
  if (readonly !== "on") return undefined;
  const hint = "name the primary: a standby takes no changes";
  return { key: "url", message: "the server is read-only, as a standby is", hint };
}

async function makeOrCheck(client: PoolClient, schema: string): Promise<SchemaFault | undefined> {
  const rights = await readRights(client, schema);
  if (!rights.hasTables) return make(client, schema, rights);
  const fault = await findTablesFault(client, schema, rights);
  if (fault === undefined) await adoptNumbers(client, quoteName(schema));
  return fault;
}

async function findTablesFault(
  client: PoolClient,
  schema: string,
  { role, isEnough, missing }: Rights,
): Promise<SchemaFault | undefined> {
  if (missing.length > 0) {
    const message = `"${schema}" has tables of another program, or not all of this one's: ${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} not there`;
    return { key: "schema", message, hint: "put back a whole copy, or name a schema of its own" };
  }
  if (!isEnough) {
    const message = `the role ${role} may not read and write all tables of the schema "${schema}"`;
    return { key: "schema", message, hint: grants(schema, role) };
  }
  const { rows } = await client.query<{ value: string }>(
    `SELECT value FROM ${quoteName(schema)}.meta WHERE name = 'schema_version'`,
  );
  const version = rows[0]?.value ?? "";
  if (!/^[1-9]\d{0,8}$/.test(version)) {
    return { key: "schema", message: `"${schema}" has tables of another program` };
  }
  if (Number(version) <= POSTGRES_SCHEMA_VERSION) return undefined;
  const message = `"${schema}" has schema version ${version}, this build knows ${POSTGRES_SCHEMA_VERSION} at most`;
  return { key: "schema", message };
}

interface Rights {
  /** Quoted where SQL requires it. */
  readonly role: string;
  readonly hasSchema: boolean;
  readonly hasTables: boolean;
  readonly missing: readonly string[];
  /** True if the role may do with the existing tables what a daemon does. */
  readonly isEnough: boolean;
  /** True if the role may create the schema if missing, and the tables in it. */
  readonly mayMake: boolean;
}

async function readRights(client: PoolClient, schema: string): Promise<Rights> {
  const { rows } = await client.query<Rights>(
    `SELECT quote_ident(current_user) AS role,
        count(*) > 0 AS "hasTables",
        ARRAY(SELECT unnest($2::text[]) EXCEPT SELECT unnest(array_agg(c.relname::text))) AS missing,
        coalesce(bool_and(has_schema_privilege(n.oid, 'USAGE')
          AND has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
          AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')),
          false) AS "isEnough",
        EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS "hasSchema",
        coalesce((SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $1),
          has_database_privilege(current_database(), 'CREATE')) AS "mayMake"
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relname = ANY($2)`,
    [schema, TABLES],
  );
  return rows[0]!;
}

async function make(
  client: PoolClient,
  schema: string,
  rights: Rights,
): Promise<SchemaFault | undefined> {
  try {
    await client.query("SAVEPOINT making");
    // The schema may have been created for this role, which lacks the right to create it.
    await client.query(rights.hasSchema ? tablesStatement(schema) : schemaStatement(schema));
    return undefined;
  } catch (error) {
    if (codeOf(error) !== "42501") throw error;
    await client.query("ROLLBACK TO making");
    return notMade(schema, rights);
  }
}

function notMade(schema: string, { role }: Rights): SchemaFault {
  const hint = `let a role that may run this:\n${schemaStatement(schema)}\n${grants(schema, role)};`;
  return { key: "schema", message: `the role may not make the schema "${schema}"`, hint };
}

function grants(schema: string, role: string): string {
  const name = quoteName(schema);
  return `GRANT USAGE ON SCHEMA ${name} TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${name} TO ${role}`;
}

/** Continues the numbering in a database restored from a dump, which counts its transactions from the start. */
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
