/**
 * Groups the commits of one turn into a transaction. Their keys are locked first, in order, so that each key's
 * revisions grow and no other node decides between the check of the expectations and the write. Each commit stays
 * atomic by itself.
 */
import { hash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import type { EncodedChange } from "../entry-limits.ts";
import type { CommitOutcome, Expectation } from "../store.ts";
import { StoreUnavailableError } from "../store-fault.ts";
import { BEGIN, withClient } from "./driver.ts";
import { again, isAnswer } from "./fault.ts";

interface CommitRequest {
  readonly changes: readonly EncodedChange[];
  readonly expectations: readonly Expectation[];
}

/** The commits that fit in a transaction's range of revisions. */
export const COMMITS_A_TRANSACTION = 4_096;
/** The locks that keys share; a server has room for a few thousand. */
const STRIPES = 256;
/** How long the outcome of a commit is looked up. */
const LOOK_UP_MS = 4_000;
const LOOK_UP_PAUSE_MS = 100;
/** How long the server waits for the next statement of a transaction. */
const IDLE_MS = 3_000;

/** Returns the revision of a transaction's commit by its index. */
export function revisionOf(transaction: number, index: number): number {
  return transaction * COMMITS_A_TRANSACTION + index;
}

export class PostgresCommitter {
  readonly #pool: Pool;
  /** The schema, quoted. */
  readonly #name: string;
  readonly #lockSpace: number;

  constructor(pool: Pool, name: string) {
    this.#pool = pool;
    this.#name = name;
    this.#lockSpace = hash("sha256", `store ${name}`, "buffer").readInt32BE(0);
  }

  /** Makes commits in order; rejects if none was made, or the outcome is unknown. */
  commit(requests: readonly CommitRequest[]): Promise<readonly CommitOutcome[]> {
    return again(() => this.#attempt(requests));
  }

  async #attempt(requests: readonly CommitRequest[]): Promise<readonly CommitOutcome[]> {
    let written: WrittenTransaction | undefined;
    let decided: Decided | undefined;
    let isCommitting = false;
    try {
      return await withClient(this.#pool, async (client) => {
        try {
          await client.query(this.#lockStatement(requests));
          decided = decide(requests, await this.#revisions(client, requests));
          if (decided.final.size > 0) {
            written = await this.#write(client, decided.final);
            isCommitting = true;
            await client.query("COMMIT");
          } else await client.query("ROLLBACK");
          return outcomesOf(decided, written?.number ?? 0);
        } catch (error) {
          if (isAnswer(error)) await client.query("ROLLBACK");
          throw error;
        }
      });
    } catch (error) {
      // An error response to COMMIT is a refusal; without a response it may have succeeded.
      if (!isCommitting || written === undefined || decided === undefined) throw error;
      if (isAnswer(error) || !(await this.#wasMade(written, error))) throw error;
      return outcomesOf(decided, written.number);
    }
  }

  #lockStatement(requests: readonly CommitRequest[]): string {
    const stripes = new Set<number>();
    for (const { changes, expectations } of requests) {
      for (const one of changes) stripes.add(this.#stripeOf(one));
      for (const one of expectations) stripes.add(this.#stripeOf(one));
    }
    const sorted = [...stripes].sort((left, right) => left - right);
    // Bounds how long a node that vanished without closing its connection blocks others.
    return `${BEGIN}; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS};
      SELECT pg_advisory_xact_lock(${this.#lockSpace}, stripe)
      FROM unnest(ARRAY[${sorted.join()}]::int[]) AS stripe`;
  }

  #stripeOf({ collection, key }: { readonly collection: string; readonly key: string }): number {
    return hash("sha256", `${collection}\0${key}`, "buffer").readUInt8(0) % STRIPES;
  }

  async #revisions(
    client: PoolClient,
    requests: readonly CommitRequest[],
  ): Promise<ReadonlyMap<string, number>> {
    const asked = requests.flatMap(({ expectations }) => expectations);
    if (asked.length === 0) return new Map();
    const { rows } = await client.query<{ collection: string; key: string; revision: string }>(
      `SELECT collection, key, revision FROM ${this.#name}.entries
        WHERE (collection, key) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
      [asked.map(({ collection }) => collection), asked.map(({ key }) => key)],
    );
    return new Map(rows.map((row) => [idOf(row), Number(row.revision)]));
  }

  async #write(
    client: PoolClient,
    final: ReadonlyMap<string, FinalChange>,
  ): Promise<WrittenTransaction> {
    const all = [...final.values()];
    const puts = all.filter(({ change }) => change.json !== undefined);
    const deletes = all.filter(({ change }) => change.json === undefined);
    const columns = (some: readonly FinalChange[]) => [
      some.map(({ change }) => change.collection),
      some.map(({ change }) => change.key),
    ];
    const { rows } = await client.query<{ number: string; made_at: string }>(
      `WITH current AS MATERIALIZED (
        SELECT pg_current_xact_id()::text::bigint + value::bigint AS number
        FROM ${this.#name}.meta WHERE name = 'base'
      ), put AS (
        INSERT INTO ${this.#name}.entries
        SELECT c, k, v, number * ${COMMITS_A_TRANSACTION} + i
        FROM current, unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS u (c, k, v, i)
        ON CONFLICT (collection, key) DO UPDATE
          SET value = excluded.value, revision = excluded.revision
      ), gone AS (
        DELETE FROM ${this.#name}.entries e USING unnest($5::text[], $6::text[]) AS u (c, k)
        WHERE e.collection = c AND e.key = k
      ), told AS (
        INSERT INTO ${this.#name}.changes (transaction, collection, key)
        SELECT number, c, k FROM current, unnest($1::text[] || $5::text[], $2::text[] || $6::text[])
          AS u (c, k) RETURNING made_at
      ) SELECT number, (SELECT extract(epoch FROM min(made_at)) FROM told) AS made_at FROM current`,
      [
        ...columns(puts),
        puts.map(({ change }) => change.json),
        puts.map(({ index }) => index),
        ...columns(deletes),
      ],
    );
    const [{ number, made_at: madeAt }] = rows as [(typeof rows)[0]];
    return { number: Number(number), madeAt };
  }

  /** Determines the outcome of a transaction once it is over; rejects if that is impossible. */
  async #wasMade({ number, madeAt }: WrittenTransaction, cause: unknown): Promise<boolean> {
    const until = performance.now() + LOOK_UP_MS;
    let isOver = false;
    while (performance.now() < until && !this.#pool.ending) {
      try {
        const { rows } = await this.#pool.query<{ status: string; made: boolean }>(
          `SELECT pg_xact_status(($1::bigint - value::bigint)::text::xid8) AS status,
            EXISTS (SELECT FROM ${this.#name}.changes
              WHERE transaction = $1 AND extract(epoch FROM made_at) = $2::numeric) AS made
            FROM ${this.#name}.meta WHERE name = 'base'`,
          [number, madeAt],
        );
        const [row] = rows;
        if (row?.made === true) return true;
        // It may have ended after the snapshot, so only the next query is conclusive.
        if (isOver) return false;
        isOver = row !== undefined && row.status !== "in progress";
        if (isOver) continue;
      } catch {
        // The server may be restarting.
      }
      await delay(LOOK_UP_PAUSE_MS);
    }
    throw new StoreUnavailableError("undecided", cause);
  }
}

/**
 * A transaction with unknown outcome. A server that crashed before it may reuse its number, so the time identifies
 * it too.
 */
interface WrittenTransaction {
  readonly number: number;
  /** When its first change was written, by the server's clock. */
  readonly madeAt: string;
}

interface FinalChange {
  readonly change: EncodedChange;
  /** The index of its commit. */
  readonly index: number;
}

/** The failed expectations of each commit, and the last change of each key. */
interface Decided {
  readonly failures: readonly (readonly Expectation[])[];
  readonly final: ReadonlyMap<string, FinalChange>;
}

/** Decides commits in order; each sees the ones before it. */
function decide(requests: readonly CommitRequest[], stored: ReadonlyMap<string, number>): Decided {
  const final = new Map<string, FinalChange>();
  const failures = requests.map(({ changes, expectations }, index) => {
    const failed = expectations.filter((one) => {
      const before = final.get(idOf(one));
      // No caller can know the revision of a commit in progress.
      if (before !== undefined) return before.change.json !== undefined || one.revision !== 0;
      return one.revision !== (stored.get(idOf(one)) ?? 0);
    });
    if (failed.length === 0) {
      for (const change of changes) final.set(idOf(change), { change, index });
    }
    return failed;
  });
  return { failures, final };
}

function outcomesOf({ failures }: Decided, transaction: number): readonly CommitOutcome[] {
  return failures.map((failed, index): CommitOutcome => {
    if (failed.length > 0) return { kind: "conflict", failed };
    return { kind: "committed", revision: revisionOf(transaction, index) };
  });
}

function idOf({ collection, key }: { readonly collection: string; readonly key: string }): string {
  return `${collection}\0${key}`;
}
