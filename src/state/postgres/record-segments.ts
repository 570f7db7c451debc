/**
 * Divides the records of a database into segments, like a journal's: each is a row of `meta` with its range of
 * numbers. Only numbers below which no record can still be added count.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import { readChainRecord } from "../journal/journal-replay.ts";
import { isDayOld, type MeasuredSegment, type RetentionLimits } from "../journal/retention.ts";
import { CUT_NUMBER, digits, FIRST_SEGMENT, readMeta } from "./cut-rows.ts";

/** A range of record numbers: above `after`, up to and including `to`. */
export interface NumberRange {
  readonly after: number;
  readonly to: number;
}

export interface RecordSegment extends MeasuredSegment, NumberRange {}

interface RecordSegmentsOptions {
  readonly pool: Pool;
  /** The schema, quoted. */
  readonly name: string;
  /** The size in octets at which a segment is finished. */
  readonly segmentBytes: number;
  /** Writes as the node that cuts. */
  change(write: (client: PoolClient) => Promise<unknown>): Promise<unknown>;
  onMarked?(): void;
}

/** The prefix of the segments' rows. */
const SEGMENT = "segment:";
const AFTER_SEGMENTS = "segment;";
/** The records measured by one statement. */
const SLICE = 1_000;
/**
 * How often to check for transactions that may still add a record below a number, before leaving it to the next run.
 */
const SETTLE_TRIES = 20;
const SETTLE_PAUSE_MS = 50;

interface OpenSegment extends NumberRange {
  readonly bytes: number;
}

export class RecordSegments {
  readonly #options: RecordSegmentsOptions;
  #finished: RecordSegment[] | undefined;
  #open: OpenSegment | undefined;
  #heldUpSince: number | undefined;

  constructor(options: RecordSegmentsOptions) {
    this.#options = options;
  }

  /** Forgets what another node may have changed. */
  forget(): void {
    this.#finished = undefined;
    this.#open = undefined;
  }

  /** The finished segments, oldest first. */
  get finished(): readonly RecordSegment[] {
    return this.#finished ?? [];
  }

  /** The octets of every segment, including the open one; undefined before the first measurement. */
  get bytes(): number | undefined {
    if (this.#finished === undefined) return undefined;
    const open = this.#open?.bytes ?? 0;
    return this.#finished.reduce((sum, one) => sum + one.bytes, open);
  }

  /** When an open transaction first delayed the measurement; undefined while none does. */
  get heldUpSince(): number | undefined {
    return this.#heldUpSince;
  }

  /** Measures new records slice by slice, and finishes segments. */
  async measure(limits: RetentionLimits, now: number, isOver: () => boolean): Promise<void> {
    this.#finished ??= await this.#read();
    const upTo = await this.#settled();
    this.#heldUpSince = upTo === undefined ? (this.#heldUpSince ?? now) : undefined;
    while (upTo !== undefined && !isOver()) {
      const open = this.#open ?? { ...(await this.#end()), bytes: 0 };
      const room = this.#options.segmentBytes - open.bytes;
      const slice = await this.#slice(open.to, upTo, room);
      if (slice === undefined) break;
      this.#open = { ...open, to: slice.to, bytes: open.bytes + slice.bytes };
      if (this.#open.bytes >= this.#options.segmentBytes) await this.#finish(this.#open);
    }
    const open = this.#open;
    if (limits.days === undefined || open === undefined || open.bytes === 0) return;
    if (isDayOld(await this.#timeOf(open, "first"), limits, now)) await this.#finish(open);
  }

  /** Deletes the rows of segments that were cut. */
  async drop(client: PoolClient, through: number): Promise<void> {
    await client.query(`DELETE FROM ${this.#options.name}.meta WHERE name >= $1 AND name <= $2`, [
      SEGMENT,
      rowOf(through),
    ]);
  }

  /** Forgets segments that were cut. */
  cut(through: number): void {
    this.#finished = this.#finished?.filter(({ number }) => number > through);
  }

  async #read(): Promise<RecordSegment[]> {
    const { pool, name } = this.#options;
    const { rows } = await pool.query<{ name: string; value: string }>(
      `SELECT name, value FROM ${name}.meta
        WHERE name > '${SEGMENT}' AND name < '${AFTER_SEGMENTS}' ORDER BY name`,
    );
    return rows.map((row) => {
      const { after, to, bytes, newest_at } = JSON.parse(row.value) as Record<string, number>;
      const number = Number(row.name.slice(SEGMENT.length));
      return segment(number, { after: after ?? 0, to: to ?? 0 }, bytes ?? 0, newest_at ?? 0);
    });
  }

  /** Returns the start of the open segment. */
  async #end(): Promise<NumberRange> {
    const last = this.#finished?.at(-1);
    if (last !== undefined) return { after: last.to, to: last.to };
    const cut = await this.#meta(CUT_NUMBER);
    return { after: cut ?? 0, to: cut ?? 0 };
  }

  /**
   * Returns the newest number below which no record can be added, 0 without records; undefined while transactions
   * that could are open.
   */
  async #settled(): Promise<number | undefined> {
    const { pool, name } = this.#options;
    // A transaction gets its own number before it draws a record's: so only transactions begun before this one matter.
    const { rows } = await pool.query<{ own: string; newest: string | null }>(
      `SELECT pg_current_xact_id()::text AS own, (SELECT max(number) FROM ${name}.records) AS newest`,
    );
    const { own, newest = null } = rows[0] ?? {};
    if (newest === null) return 0;
    for (let more = SETTLE_TRIES; more > 0; more -= 1) {
      const { rows: answer } = await pool.query<{ settled: boolean }>(
        "SELECT pg_snapshot_xmin(pg_current_snapshot()) > $1::xid8 AS settled",
        [own],
      );
      if (answer[0]?.settled === true) return Number(newest);
      await delay(SETTLE_PAUSE_MS);
    }
    return undefined;
  }

  /** Measures as many records as fill the room; undefined if there are none. */
  async #slice(
    after: number,
    upTo: number,
    room: number,
  ): Promise<{ readonly to: number; readonly bytes: number } | undefined> {
    const { pool, name } = this.#options;
    const { rows } = await pool.query<{ to: string | null; bytes: string | null }>(
      `SELECT max(number) AS to, max(sum) AS bytes FROM (
          SELECT number, octets, sum(octets) OVER (ORDER BY number) AS sum FROM (
            SELECT number, octet_length(jws) + 1 AS octets FROM ${name}.records
            WHERE number > $1 AND number <= $2 ORDER BY number LIMIT ${SLICE}
          ) AS slice
        ) AS summed WHERE sum - octets < $3`,
      [after, upTo, room],
    );
    const [row] = rows;
    if (row === undefined || row.to === null || row.bytes === null) return undefined;
    return { to: Number(row.to), bytes: Number(row.bytes) };
  }

  async #finish({ after, to, bytes }: OpenSegment): Promise<void> {
    const { name } = this.#options;
    const last = this.#finished?.at(-1);
    const number = last === undefined ? ((await this.#meta(FIRST_SEGMENT)) ?? 1) : last.number + 1;
    const newestAt = await this.#timeOf({ after, to }, "last");
    const value = JSON.stringify({ after, to, bytes, newest_at: newestAt });
    await this.#options.change((client) =>
      client.query(`INSERT INTO ${name}.meta VALUES ($1, $2)`, [rowOf(number), value]),
    );
    this.#finished?.push(segment(number, { after, to }, bytes, newestAt));
    this.#open = undefined;
    this.#options.onMarked?.();
  }

  /** Returns when the first or last record of a range was made; a record without a time counts as new. */
  async #timeOf({ after, to }: NumberRange, which: "first" | "last"): Promise<number> {
    const { pool, name } = this.#options;
    const { rows } = await pool.query<{ jws: string }>(
      `SELECT jws FROM ${name}.records WHERE number > $1 AND number <= $2
        ORDER BY number ${which === "first" ? "ASC" : "DESC"} LIMIT 1`,
      [after, to],
    );
    return readChainRecord(rows[0]?.jws ?? "")?.at ?? Number.POSITIVE_INFINITY;
  }

  async #meta(row: string): Promise<number | undefined> {
    const { pool, name } = this.#options;
    const value = await readMeta(pool, name, row);
    return value === undefined ? undefined : Number(value);
  }
}

/** Returns the octets and number of finished segments, measured by any node. */
export async function measuredSegments(
  pool: Pool,
  name: string,
): Promise<{ readonly segments: number; readonly bytes: number }> {
  const { rows } = await pool.query<{ segments: string; bytes: string }>(
    `SELECT count(*) AS segments, coalesce(sum((value::jsonb ->> 'bytes')::bigint), 0) AS bytes
      FROM ${name}.meta WHERE name > '${SEGMENT}' AND name < '${AFTER_SEGMENTS}'`,
  );
  return { segments: Number(rows[0]?.segments), bytes: Number(rows[0]?.bytes) };
}

function segment(
  number: number,
  range: NumberRange,
  bytes: number,
  newestAt: number,
): RecordSegment {
  return { number, ...range, bytes, newestAt: () => newestAt };
}

function rowOf(number: number): string {
  return `${SEGMENT}${digits(number)}`;
}
