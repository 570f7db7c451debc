/**
 * Keeps records within the configured age and size, in any kind of storage: segments are removed, oldest first, each
 * after a signed checkpoint.   AGTP-IDENTIFIERS "Audit Log"
 */

import { reasonOf } from "../../base/thrown.ts";
import { journalCut, retentionFailed, type StateNotice } from "../notice.ts";
import type { RecordSigner } from "../records/sealer.ts";
import type { WhereCut } from "./archived-records.ts";
import type { JournalCut } from "./cut-record.ts";

/** `[attribution.retention]`; without days and bytes nothing is removed. */
export interface RetentionLimits {
  /** A segment is removed once its newest record is older. */
  readonly days?: number;
  /** The oldest segments are removed while the total is larger. */
  readonly bytes?: number;
  /** An absolute path; undefined: segments are deleted. */
  readonly archive?: string;
}

/** The limits in force, and the signer of cuts. */
interface RetentionPlan {
  readonly limits: RetentionLimits | undefined;
  readonly signer: Pick<RecordSigner, "sign">;
  readonly serverId: string;
}

export interface LimitedPlan extends RetentionPlan {
  readonly limits: RetentionLimits;
}

/** The size of the stored records, as `agtpd status` shows it. */
export interface JournalSize {
  readonly segments: number;
  readonly bytes: number;
  /** The file name of the last segment cut. */
  readonly cutThrough: string | undefined;
}

/** One run of retention. */
export interface RetentionRun {
  /** Milliseconds since the epoch. */
  now(): number;
  /** True once nothing more should begin. */
  isOver(): boolean;
  /** Called with a cut once its segments are removed. */
  onCut(cut: JournalCut): void;
}

/** Storage with removable records: a journal's files, or a database. */
export interface RetainedRecords {
  /** Completes what a killed process began, and cuts what is due; rejects with the obstacle. */
  keep(plan: LimitedPlan, run: RetentionRun): Promise<void>;
  /** Searches for removed records in this archive from now on. */
  follow(archive: string | undefined): void;
  /** Called when this process has no limits to apply any more, so that another may. */
  release?(): Promise<void>;
  /** Returns where a record was moved; undefined if nothing is known of it. */
  whereCut(auditId: string): Promise<WhereCut | undefined>;
  /** Returns undefined if the size was not measured. */
  size(): Promise<JournalSize | undefined>;
}

interface RetentionOptions {
  onNotice?(notice: StateNotice): void;
  now?(): number;
}

const EVERY_MS = 10_000;
const DAY_MS = 86_400_000;

export class Retention {
  readonly #records: RetainedRecords;
  readonly #options: RetentionOptions;
  readonly #now: () => number;
  #plan: RetentionPlan | undefined;
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #failure = "";

  constructor(records: RetainedRecords, options: RetentionOptions) {
    this.#records = records;
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Applies a plan from now on. */
  apply(plan: RetentionPlan): void {
    this.#plan = plan;
    this.#records.follow(plan.limits?.archive);
    if (this.#timer !== undefined || this.#isClosed) return;
    void this.run();
    this.#timer = setInterval(() => void this.run(), EVERY_MS);
    this.#timer.unref();
  }

  /** Cuts what is due now; faults are reported, not thrown. */
  run(): Promise<void> {
    this.#running = this.#running.then(() => this.#work()).catch((error) => this.#tell(error));
    return this.#running;
  }

  size(): Promise<JournalSize | undefined> {
    return this.#records.size();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#running;
    await this.#records.release?.().catch(() => undefined);
  }

  async #work(): Promise<void> {
    const plan = this.#plan;
    if (plan === undefined || this.#isClosed) return;
    const { limits } = plan;
    if (limits === undefined) {
      await this.#records.release?.();
      return;
    }
    await this.#records.keep(
      { ...plan, limits },
      {
        now: this.#now,
        isOver: () => this.#isClosed || this.#plan !== plan,
        onCut: (cut) => this.#options.onNotice?.(journalCut(cut)),
      },
    );
    this.#failure = "";
  }

  /** Reports a failure once per reason, as it is retried every ten seconds. */
  #tell(error: unknown): void {
    const reason = reasonOf(error);
    if (reason !== this.#failure) this.#options.onNotice?.(retentionFailed(reason));
    this.#failure = reason;
  }
}

/** A removable segment. */
export interface MeasuredSegment {
  readonly number: number;
  readonly bytes: number;
  /** Returns when its newest record was made, in milliseconds since the epoch; called only if age matters. */
  newestAt(): number | Promise<number>;
}

/** Returns the segments to remove, oldest first; `total` is the size of everything stored. */
export async function findDue(
  segments: readonly MeasuredSegment[],
  total: number,
  { days, bytes }: RetentionLimits,
  now: number,
): Promise<readonly number[]> {
  const due: number[] = [];
  let left = total;
  for (const segment of segments) {
    const isTooMuch = bytes !== undefined && left > bytes;
    const isTooOld = async (): Promise<boolean> =>
      days !== undefined && (await segment.newestAt()) < now - days * DAY_MS;
    if (!isTooMuch && !(await isTooOld())) break;
    due.push(segment.number);
    left -= segment.bytes;
  }
  return due;
}

/**
 * True if age matters and the active segment began more than a day ago, so that it should be finished to expire too.
 */
export function isDayOld(firstAt: number, { days }: RetentionLimits, now: number): boolean {
  return days !== undefined && firstAt < now - DAY_MS;
}
