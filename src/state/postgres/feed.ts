/**
 * The feed of a database: which keys have changed, read by the horizon of a snapshot. What commits later than
 * its number says lies behind the horizon until then, so nothing is ever skipped; what is told before the
 * horizon has passed it is told again, unless the asker has taken in all of a snapshot: any transaction that
 * writes holds the horizon up, also one of another database, for as long as it is open. A server that was
 * started anew, or another in its place, may use a number again that was seen already: a reader of the
 * one before reads all.
 */
import type { Pool } from "pg";
import type { ChangedEntry, Feed, StoredEntry } from "../store.ts";
import { COMMITS_A_TRANSACTION, revisionOf } from "./commit.ts";
import { BEGIN, inTransaction } from "./driver.ts";

/** More keys than these are not told one by one. */
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

/** Reads an entry as it is stored; throws for one that is no JSON. */
type ReadEntry = (key: string, json: string, revision: string) => StoredEntry;

/** The transactions that a snapshot does not show yet, by their numbers. */
export interface FeedCursor {
  /** All from here on. */
  readonly next: number;
  /** Those before it that were under way. */
  readonly open: readonly number[];
}

/** A feed, and the server that it is from. */
export interface PostgresFeed extends Feed {
  /** When it was started. */
  readonly server: string;
  /** For who has taken in all of this one. */
  readonly cursor: FeedCursor;
}

/** The place from which a feed is read. */
export interface FeedStart {
  /** A revision. */
  readonly after: number;
  /** Undefined: all collections. */
  readonly only: readonly string[] | undefined;
  /** The cursor of an earlier feed of the same collections, if all of it was taken in. */
  readonly cursor?: FeedCursor | undefined;
}

/** The expression of `server`: a number, which is the same in every time zone that a connection may have. */
export const SERVER = "extract(epoch FROM pg_postmaster_start_time())::text";

/** Reads what has changed after a revision, of some collections or of all, in one snapshot. */
export async function readFeed(
  pool: Pick<Pool, "query">,
  name: string,
  { after, only, cursor }: FeedStart,
  readEntry: ReadEntry,
): Promise<PostgresFeed> {
  // The last revision of a transaction is followed by the next transaction's first.
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
  // A transaction that was open at the cursor may be made and forgotten since.
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

/** How long changes are kept: a node that was away longer loads everything anew. */
const KEPT = "10 minutes";
const FORGOTTEN_AT_ONCE = 10_000;

/**
 * Deletes changes that nobody asks for any more, a bounded number of them; answers whether there may be more. What
 * another node is deleting is left to it.
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
