/**
 * Retention of records in a database: one node at a time cuts, after a checkpoint is committed. A node killed
 * between any two steps leaves a database that serves, exports and verifies; the next node to cut completes the
 * work.   AGTP-IDENTIFIERS "Audit Log"
 */
import type { Pool, PoolClient } from "pg";
import { makeDirectory } from "../../base/paths.ts";
import { HolderLostError, type Holders } from "../holders.ts";
import { archiveCuts, archiveSegment } from "../journal/archive-segment.ts";
import { ArchivedRecords, type WhereCut } from "../journal/archived-records.ts";
import { type JournalCut, signAfter } from "../journal/cut-record.ts";
import { headsAfter, surveySegments } from "../journal/cut-survey.ts";
import {
  findDue,
  type JournalSize,
  type LimitedPlan,
  type RetainedRecords,
  type RetentionRun,
} from "../journal/retention.ts";
import { segmentName } from "../journal/segment.ts";
import {
  cutRow,
  inSnapshot,
  readCutRows,
  readHeadRows,
  readingSnapshot,
  readLastCutRow,
  readMeta,
} from "./cut-rows.ts";
import {
  changePending,
  commitCut,
  type PendingSegment,
  readPending,
  stageHeads,
} from "./cut-writing.ts";
import { BEGIN, inTransaction } from "./driver.ts";
import { deleteRange, readRange, surveyedRange } from "./record-range.ts";
import { measuredSegments, type RecordSegment, RecordSegments } from "./record-segments.ts";

/** The steps of a cut, each named after its completion. */
export type RecordCutStep =
  | "claimed"
  | "segment-marked"
  | "heads-staged"
  | "cut-committed"
  | "part-written"
  | "segment-archived"
  | "cuts-archived"
  | "archive-noted"
  | "slice-deleted"
  | "segment-gone";

interface RecordRetentionOptions {
  readonly pool: Pool;
  /** The schema, quoted. */
  readonly name: string;
  readonly holders: Holders & { readonly self: string };
  /** False while this node may not write. */
  isFresh(): boolean;
  /** The size of a segment in octets. */
  readonly segmentBytes?: number | undefined;
  onStep?(step: RecordCutStep): void;
}

/** An open transaction is reported after this time. */
const HELD_UP_MS = 60_000;
const HELD_UP =
  "a transaction that writes has been open on the database's server for a minute or longer: newer records cannot be counted, and stay, until it ends (pg_stat_activity shows it)";

/** The same size as a journal's. */
const SEGMENT_BYTES = 16 * 1024 * 1024;

export class RecordRetention implements RetainedRecords {
  readonly #options: RecordRetentionOptions;
  readonly #claim: CutClaim;
  readonly #segments: RecordSegments;
  readonly #archived: ArchivedRecords;
  #archive: string | undefined;
  /** True while this process believes to hold the claim to cut. */
  #isClaimed = false;

  constructor(options: RecordRetentionOptions) {
    const { pool, name, holders, segmentBytes = SEGMENT_BYTES } = options;
    this.#options = options;
    this.#claim = new CutClaim(pool, name, holders);
    this.#segments = new RecordSegments({
      ...{ pool, name, segmentBytes },
      change: (write) => this.#claim.change(write),
      onMarked: () => options.onStep?.("segment-marked"),
    });
    this.#archived = new ArchivedRecords(() =>
      readingSnapshot(pool, (client) => readHeadRows(client, name)),
    );
  }

  follow(archive: string | undefined): void {
    this.#archive = archive;
  }

  async release(): Promise<void> {
    if (!this.#isClaimed) return;
    this.#isClaimed = false;
    await this.#claim.release();
  }

  async whereCut(auditId: string): Promise<WhereCut | undefined> {
    const { pool, name } = this.#options;
    const cut = await readLastCutRow(pool, name);
    if (cut === undefined) return undefined;
    this.#archived.follow(cut, this.#archive, (await readPending(pool, name)).length);
    return this.#archived.find(auditId);
  }

  async size(): Promise<JournalSize | undefined> {
    const { pool, name } = this.#options;
    const cut = await readLastCutRow(pool, name);
    const { segments, bytes } = await measuredSegments(pool, name);
    const own = this.#isClaimed ? this.#segments.bytes : undefined;
    if (cut === undefined && segments === 0 && own === undefined) return undefined;
    const cutThrough = cut && segmentName(cut.through);
    return { segments: segments + 1, bytes: own ?? bytes, cutThrough };
  }

  async keep(plan: LimitedPlan, run: RetentionRun): Promise<void> {
    if (!this.#options.isFresh()) return;
    const had = this.#isClaimed;
    this.#isClaimed = await this.#claim.take();
    if (!this.#isClaimed) return;
    if (!had) this.#segments.forget();
    this.#step("claimed");
    const { limits } = plan;
    try {
      await this.#finish(limits.archive);
      await this.#segments.measure(limits, run.now(), run.isOver);
      for (;;) {
        const { finished, bytes = 0 } = this.#segments;
        const due = new Set(await findDue(finished, bytes, limits, run.now()));
        if (due.size === 0 || run.isOver() || !this.#options.isFresh()) break;
        const going = finished.filter(({ number }) => due.has(number));
        const cut = await this.#cut(going, plan, run.now());
        await this.#finish(limits.archive);
        run.onCut(cut);
      }
    } catch (error) {
      // Another node may have changed the segments by now.
      this.#segments.forget();
      if (!(error instanceof HolderLostError)) throw error;
      this.#isClaimed = false;
      return;
    }
    const { heldUpSince = Number.POSITIVE_INFINITY } = this.#segments;
    if (run.now() - heldUpSince >= HELD_UP_MS) throw new Error(HELD_UP);
  }

  /** Commits the checkpoint for cutting these segments, or as many as fit; deletes nothing yet. */
  async #cut(
    going: readonly RecordSegment[],
    { signer, serverId, limits }: LimitedPlan,
    now: number,
  ): Promise<JournalCut> {
    const { pool, name, holders } = this.#options;
    const { self } = holders;
    const before = await readLastCutRow(pool, name);
    const survey = await surveySegments(
      going.map((one) => surveyedRange(segmentName(one.number), () => readRange(pool, name, one))),
    );
    const { segments } = survey;
    const last = going[segments.length - 1];
    if (last === undefined) throw new Error("there is nothing to cut");
    const staged = { self, through: last.number };
    const heads = await stageHeads(
      pool,
      name,
      staged,
      headsAfter(readHeadRows(pool, name), survey),
    );
    this.#step("heads-staged");
    const isArchived = limits.archive !== undefined;
    const cut = signAfter(before, { serverId, at: now, segments, heads, isArchived }, signer);
    const pending = segments.map(
      ({ file, sha256 }, index): PendingSegment => ({
        ...{ file, sha256, isKept: isArchived, isArchived: false },
        ...{ after: going[index]?.after ?? 0, to: going[index]?.to ?? 0 },
      }),
    );
    await this.#claim.change(async (client) => {
      await commitCut(client, name, { cut, self, to: last.to });
      await this.#segments.drop(client, last.number);
      await changePending(client, name, (older) => [...older, ...pending]);
    });
    this.#segments.cut(last.number);
    this.#step("cut-committed");
    return cut;
  }

  /** Archives and deletes the records of segments with committed checkpoints. */
  async #finish(archive: string | undefined): Promise<void> {
    const { pool, name } = this.#options;
    const pending = await readPending(pool, name);
    if (pending.length === 0) return;
    if (archive !== undefined) await this.#moveTo(archive, pending);
    for (const segment of await readPending(pool, name)) {
      // An archived cut deletes nothing, even if no archive is configured any more.
      if (segment.isKept && !segment.isArchived) continue;
      await deleteRange(pool, name, segment, () => this.#step("slice-deleted"));
      await this.#claim.change((client) =>
        changePending(client, name, (all) => all.filter(({ file }) => file !== segment.file)),
      );
      this.#step("segment-gone");
    }
  }

  async #moveTo(archive: string, pending: readonly PendingSegment[]): Promise<void> {
    const { pool, name } = this.#options;
    // A segment signed as deleted may be half deleted.
    const waiting = pending.filter(({ isKept, isArchived }) => isKept && !isArchived);
    if (waiting.length === 0) return;
    makeDirectory(archive, 0o700);
    for (const one of waiting) {
      const records = () => readRange(pool, name, one);
      await archiveSegment(archive, one, records, (step) => this.#step(step));
    }
    await inSnapshot(pool, async (client) => {
      const last = await readLastCutRow(client, name);
      if (last === undefined) return;
      const cutsAfter = (through: number) => readCutRows(client, name, cutRow(through));
      await archiveCuts(archive, last, cutsAfter, readHeadRows(client, name));
    });
    this.#step("cuts-archived");
    const moved = new Set(waiting.map(({ file }) => file));
    await this.#claim.change((client) =>
      changePending(client, name, (all) =>
        all.map((one) => (moved.has(one.file) ? { ...one, isArchived: true } : one)),
      ),
    );
    this.#step("archive-noted");
  }

  #step(step: RecordCutStep): void {
    this.#options.onStep?.(step);
  }
}

/** The name of the claim's row in `meta`. */
const HOLDER = "cut_holder";
/** How long the server waits for the next statement of a transaction. */
const IDLE_MS = 3_000;

/**
 * The claim of the one node that cuts. The node keeps it until its process is gone. Each decisive step is a
 * transaction that checks the claim, so that a node that was paused changes nothing after another has taken over.
 */
class CutClaim {
  readonly #pool: Pool;
  /** The schema, quoted. */
  readonly #name: string;
  readonly #holders: Holders;
  readonly #self: string;

  constructor(pool: Pool, name: string, holders: Holders & { readonly self: string }) {
    this.#pool = pool;
    this.#name = name;
    this.#holders = holders;
    this.#self = holders.self;
  }

  /** Takes the claim if possible; true if this process holds it. */
  async take(): Promise<boolean> {
    const holder = await readMeta(this.#pool, this.#name, HOLDER);
    if (holder === this.#self) return true;
    if (holder !== undefined && !this.#holders.isGone(holder)) return false;
    const { rowCount } = await this.#pool.query(
      `INSERT INTO ${this.#name}.meta AS m VALUES ('${HOLDER}', $1)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE m.value = $2`,
      [this.#self, holder ?? null],
    );
    return rowCount === 1;
  }

  /** Releases the claim. */
  async release(): Promise<void> {
    await this.#pool.query(
      `DELETE FROM ${this.#name}.meta WHERE name = '${HOLDER}' AND value = $1`,
      [this.#self],
    );
  }

  /**
   * Writes as the holder of the claim.
   * @throws HolderLostError if another process holds it
   */
  change<Done>(write: (client: PoolClient) => Promise<Done>): Promise<Done> {
    const begin = `${BEGIN}; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`;
    return inTransaction(this.#pool, begin, async (client) => {
      const { rows } = await client.query<{ value: string }>(
        `SELECT value FROM ${this.#name}.meta WHERE name = '${HOLDER}' FOR UPDATE`,
      );
      if (rows[0]?.value !== this.#self) throw new HolderLostError();
      return write(client);
    });
  }
}
