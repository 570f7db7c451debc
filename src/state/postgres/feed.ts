/**
 * The feed of a database: changed keys, read by the horizon of a snapshot. A transaction that commits after its
 * number was assigned lies beyond the horizon until then, so nothing is skipped. Changes beyond the horizon are
 * reported again, unless the reader has applied a whole snapshot, since any open writing transaction, also of
 * another database, holds the horizon back. A restarted or replaced server may reuse numbers, so readers of the
 * previous one reload everything.
 */
import type { Pool } from "pg";
import type { ChangedEntry, Feed, StoredEntry } from "../store.ts";
import { COMMITS_A_TRANSACTION, revisionOf } from "./commit.ts";
import { BEGIN, inTransaction } from "./driver.ts";

/** The most keys reported individually. */
const MAX_CHANGED = 8_192;

interface FeedRow {
  readonly server: string;
  readonly horizon: string;
  readonly next: string;
  readonly open: readonly string[];
  readonly forgotten: string;
  readonly collection: string | null;
  readonly key: string;
  readonly value: string | null;
  readonly revision: string | null;
}

/** Decodes a stored entry; throws on invalid JSON. */
type ReadEntry = (key: string, json: string, revision: string) => StoredEntry;

/** The transactions that a snapshot does not show yet, by number. */
export interface FeedCursor {
  /** Every transaction from this number on. */
  readonly next: number;
  /** Earlier transactions in progress. */
  readonly open: readonly number[];
}

/** A feed, with its server. */
export interface PostgresFeed extends Feed {
  /** When the server was started. */
  readonly server: string;
  /** The cursor for a reader that applied the whole feed. */
  readonly cursor: FeedCursor;
}

/** The starting point of a feed. */
export interface FeedStart {
  /** A revision. */
  readonly after: number;
  /** Undefined: every collection. */
  readonly only: readonly string[] | undefined;
  /** The cursor of an earlier feed of the same collections that was applied entirely. */
  readonly cursor?: FeedCursor | undefined;
}

/** The expression of `server`: a number, independent of the connection's time zone. */
export const SERVER = "extract(epoch FROM pg_postmaster_start_time())::text";

/** Reads the changes after a revision, in some collections or in all, in one snapshot. */
export async function readFeed(
  pool: Pick<Pool, "query">,
  name: string,
  { after, only, cursor }: FeedStart,
  readEntry: ReadEntry,
): Promise<PostgresFeed> {
  // After the last revision of a transaction comes the first of the next.
  const from = cursor?.next ?? Math.floor((after + 1) / COMMITS_A_TRANSACTION);
  const { rows } = await pool.query<FeedRow>(
    `WITH place AS MATERIALIZED (
      SELECT pg_current_snapshot() AS seen,
        (SELECT value::bigint FROM ${name}.meta WHERE name = 'base') AS base,
        (SELECT value::bigint FROM ${name}.meta WHERE name = 'forgotten') AS forgotten
    ), reach AS MATERIALIZED (
      SELECT ${SERVER} AS server, pg_snapshot_xmin(seen)::text::bigint + base - 1 AS horizon,
        pg_snapshot_xmax(seen)::text::bigint + base AS next,
        ARRAY(SELECT x::text::bigint + base FROM pg_snapshot_xip(seen) AS x)::text[] AS open,
        forgotten
      FROM place
    ), changed AS (
      SELECT DISTINCT collection, key FROM ${name}.changes
      WHERE (transaction >= $1 OR transaction = ANY($3::bigint[]))
        AND ($2::text[] IS NULL OR collection = ANY($2))
        AND $1 > (SELECT forgotten FROM reach)
      LIMIT ${MAX_CHANGED + 1}
    )
    SELECT server, horizon, next, open, forgotten, collection, key, value, revision
    FROM reach LEFT JOIN (changed LEFT JOIN ${name}.entries USING (collection, key)) ON true
    ORDER BY collection, key`,
    [from, only ?? null, cursor?.open ?? []],
  );
  const [first] = rows;
  if (first === undefined) throw new Error("the database has lost its meta table");
  const upTo = revisionOf(Number(first.horizon), COMMITS_A_TRANSACTION - 1);
  const { server } = first;
  const next = Number(first.next);
  const open = first.open.map(Number);
  const underWay = new Set(open);
  const knows = (revision: number): boolean => {
    const transaction = Math.floor(revision / COMMITS_A_TRANSACTION);
    return transaction < next && !underWay.has(transaction);
  };
  const reached = { server, upTo, knows, cursor: { next, open } };
  const forgotten = Number(first.forgotten);
  // A transaction open at the cursor may have been committed and forgotten since.
  const isForgotten = (one: number): boolean => one <= forgotten && !underWay.has(one);
  const isKnown = from > forgotten && cursor?.open.some(isForgotten) !== true;
  if (!isKnown || rows.length > MAX_CHANGED) return { ...reached, changed: undefined };
  const changed = rows.flatMap(({ collection, key, value, revision }): readonly ChangedEntry[] => {
    if (collection === null) return [];
    const isGone = value === null || revision === null;
    return [{ collection, key, entry: isGone ? undefined : readEntry(key, value, revision) }];
  });
  return { ...reached, changed };
}

/** How long changes are kept; a node that was away longer reloads everything. */
const KEPT = "10 minutes";
const FORGOTTEN_AT_ONCE = 10_000;

/**
 * Deletes a bounded number of old changes, skipping those that another node is deleting; returns true if there may
 * be more.
 */
export async function forgetChanges(pool: Pool, name: string): Promise<boolean> {
  const forget = `WITH old AS (
      SELECT transaction, collection, key FROM ${name}.changes
      WHERE made_at < clock_timestamp() - interval '${KEPT}'
      ORDER BY transaction LIMIT ${FORGOTTEN_AT_ONCE} FOR UPDATE SKIP LOCKED
    ), gone AS (
      DELETE FROM ${name}.changes c USING old o
      WHERE (c.transaction, c.collection, c.key) = (o.transaction, o.collection, o.key)
      RETURNING c.transaction
    )
    UPDATE ${name}.meta SET value = greatest(value::bigint, newest)::text
    FROM (SELECT max(transaction) AS newest FROM gone) AS last
    WHERE name = 'forgotten' AND newest IS NOT NULL
    RETURNING (SELECT count(*) FROM gone) AS count`;
  const { rows } = await inTransaction(pool, BEGIN, (client) =>
    client.query<{ count: string }>(forget),
  );
  return Number(rows[0]?.count ?? 0) === FORGOTTEN_AT_ONCE;
}
