/**
 * Surveys a deployment's database for an operator: read-only, over one connection, within seconds. Row counts are
 * the planner's estimates, so nothing is counted.
 */
import type { PoolClient } from "pg";
import { readChainRecord } from "../journal/journal-replay.ts";
import type { RetentionLimits } from "../journal/retention.ts";
import { inTransaction, makePool, type PostgresLocation, quoteName } from "./driver.ts";
import { describeFault } from "./open.ts";
import { findStartFault, type SchemaFault } from "./schema.ts";

/** A table with its indexes. */
export interface TableSize {
  readonly name: string;
  readonly bytes: number;
  /** An estimate. */
  readonly rows: number;
  /** Deleted rows whose space is not reusable yet; an estimate. */
  readonly deadRows: number;
  /** Milliseconds since the epoch; undefined if never, as far as the server knows. */
  readonly vacuumedAt: number | undefined;
}

/** A node, live or silent for longer than its lease. */
export interface SurveyedNode {
  readonly node: string;
  readonly address: string;
  readonly version: string;
  /** Milliseconds since its last heartbeat. */
  readonly silentMs: number;
  readonly isLive: boolean;
}

export interface DatabaseSurvey {
  /** The reason why no daemon would start with the database. */
  readonly startFault: SchemaFault | undefined;
  readonly schema: string;
  readonly role: string;
  /** Largest first; empty before the first start. */
  readonly tables: readonly TableSize[];
  /** Tables that the role may not read. */
  readonly unreadable: readonly string[];
  /** The share of the records, from 0 to 1, that the limits would remove now; undefined if unreadable. */
  readonly dueShare: number | undefined;
  /** The least time in milliseconds that a writing transaction has been open; 0: none is known. */
  readonly heldUpMs: number;
  readonly nodes: readonly SurveyedNode[];
}

/** The survey, or the problem that prevented it. */
export type DatabaseAnswer =
  | { readonly survey: DatabaseSurvey; readonly fault?: undefined }
  | { readonly survey?: undefined; readonly fault: SchemaFault };

/** The timeout of a statement, on the server. */
const STATEMENT_MS = 2_000;
/** The steps of a bisection of the possible numbers. */
const MAX_STEPS = 64;
const DAY_MS = 86_400_000;
/** The newest records measured to estimate the size of all. */
const MEASURED = 500;

/** Surveys a database; `now` is in milliseconds since the epoch. */
export async function surveyDatabase(
  location: PostgresLocation,
  limits: RetentionLimits,
  now: number,
): Promise<DatabaseAnswer> {
  const { pool, fault } = makePool(location);
  if (pool === undefined) return { fault };
  try {
    // Local to the transaction, since a pooler may lend the connection to others afterwards.
    const begin = `BEGIN READ ONLY; SET LOCAL statement_timeout = ${STATEMENT_MS}`;
    const read = (client: PoolClient) => survey(client, location, limits, now);
    return { survey: await inTransaction(pool, begin, read) };
  } catch (error) {
    return { fault: describeFault(error) };
  } finally {
    await pool.end();
  }
}

async function survey(
  client: PoolClient,
  { schema }: PostgresLocation,
  limits: RetentionLimits,
  now: number,
): Promise<DatabaseSurvey> {
  const { rows } = await client.query<Record<string, unknown>>(
    `SELECT c.relname AS name, pg_total_relation_size(c.oid) AS bytes, current_user AS role,
        greatest(c.reltuples::bigint, s.n_live_tup, 0) AS rows, coalesce(s.n_dead_tup, 0) AS dead,
        extract(epoch FROM greatest(s.last_vacuum, s.last_autovacuum)) * 1000 AS vacuumed,
        has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AS readable
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
      WHERE n.nspname = $1 AND c.relkind = 'r' ORDER BY bytes DESC`,
    [schema],
  );
  const tables = rows.map(
    (row): TableSize => ({
      name: String(row["name"]),
      bytes: Number(row["bytes"]),
      rows: Number(row["rows"]),
      deadRows: Number(row["dead"]),
      vacuumedAt: row["vacuumed"] === null ? undefined : Number(row["vacuumed"]),
    }),
  );
  const readable = new Set(rows.flatMap(({ name, readable: is }) => (is === true ? [name] : [])));
  const name = quoteName(schema);
  return {
    startFault: await findStartFault(client, schema),
    ...{ schema, role: String(rows[0]?.["role"] ?? ""), tables },
    unreadable: tables.flatMap((table) => (readable.has(table.name) ? [] : [table.name])),
    dueShare: readable.has("records") ? await dueShare(client, name, limits, now) : undefined,
    heldUpMs: readable.has("changes") && readable.has("meta") ? await heldUpMs(client, name) : 0,
    nodes: readable.has("nodes") ? await readNodes(client, name) : [],
  };
}

/** Estimates by single records what retention decides by segments and octets of lines. */
async function dueShare(
  client: PoolClient,
  name: string,
  { days, bytes }: RetentionLimits,
  now: number,
): Promise<number> {
  const { rows } = await client.query<{ first: string | null; last: string | null }>(
    `SELECT min(number) AS first, max(number) AS last FROM ${name}.records`,
  );
  const { first = null, last = null } = rows[0] ?? {};
  if (first === null || last === null) return 0;
  const [from, to] = [Number(first), Number(last) + 1];
  const old =
    days === undefined ? from : await firstSince(client, name, from, to, now - days * DAY_MS);
  const { rows: measured } = await client.query<{ octets: string | null }>(
    `SELECT avg(octet_length(jws) + 1) AS octets FROM
      (SELECT jws FROM ${name}.records ORDER BY number DESC LIMIT ${MEASURED}) AS newest`,
  );
  const all = Number(measured[0]?.octets ?? 0) * (to - from);
  const tooMany = bytes === undefined || all <= bytes ? 0 : 1 - bytes / all;
  return Math.max((old - from) / (to - from), tooMany);
}

/** Returns the number of the first record since a time, or the end; times grow with the numbers. */
async function firstSince(
  client: PoolClient,
  name: string,
  from: number,
  end: number,
  since: number,
): Promise<number> {
  let [low, high] = [from, end];
  for (let step = 0; low < high && step < MAX_STEPS; step += 1) {
    const middle = Math.floor((low + high) / 2);
    const { rows } = await client.query<{ number: string; jws: string }>(
      `SELECT number, jws FROM ${name}.records WHERE number >= $1 ORDER BY number LIMIT 1`,
      [middle],
    );
    const [row] = rows;
    const at = row && readChainRecord(row.jws)?.at;
    if (row !== undefined && at !== undefined && at < since) low = Number(row.number) + 1;
    else high = middle;
  }
  return Math.min(low, end);
}

/**
 * Returns the age of the first commit after the oldest open transaction; not every role can see others'
 * transactions.
 */
async function heldUpMs(client: PoolClient, name: string): Promise<number> {
  const { rows } = await client.query<{ held: string | null }>(
    `SELECT extract(epoch FROM clock_timestamp() - min(made_at)) * 1000 AS held FROM ${name}.changes
      WHERE transaction >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint
        + (SELECT value::bigint FROM ${name}.meta WHERE name = 'base')`,
  );
  return Math.max(0, Number(rows[0]?.held ?? 0));
}

async function readNodes(client: PoolClient, name: string): Promise<readonly SurveyedNode[]> {
  const { rows } = await client.query<Record<string, unknown>>(
    `SELECT node, address, version, lease_ms,
        greatest(0, extract(epoch FROM clock_timestamp() - beat_at) * 1000) AS silent
      FROM ${name}.nodes ORDER BY node LIMIT 1000`,
  );
  return rows.map((row) => {
    const silentMs = Number(row["silent"]);
    return {
      node: String(row["node"]),
      address: String(row["address"]),
      version: String(row["version"]),
      ...{ silentMs, isLive: silentMs <= Number(row["lease_ms"]) },
    };
  });
}
