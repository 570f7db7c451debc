/**
 * Keeps records within the age and the size that an operator wants, wherever they are kept: segments go,
 * the oldest first, each behind a signed checkpoint.   AGTP-IDENTIFIERS "Audit Log"
 */

import { reasonOf } from "../../base/thrown.ts";
import { journalCut, retentionFailed, type StateNotice } from "../notice.ts";
import type { RecordSigner } from "../records/sealer.ts";
import type { WhereCut } from "./archived-records.ts";
import type { JournalCut } from "./cut-record.ts";

/** `[attribution.retention]`; without days and bytes nothing goes. */
export interface RetentionLimits {
  /** A segment goes when its newest record is older. */
  readonly days?: number;
  /** The oldest segments go while all of them together have more. */
  readonly bytes?: number;
  /** Absolute; undefined: segments are deleted. */
  readonly archive?: string;
}

/** The limits in force, and in whose name a cut is signed. */
interface RetentionPlan {
  readonly limits: RetentionLimits | undefined;
  readonly signer: Pick<RecordSigner, "sign">;
  readonly serverId: string;
}

export interface LimitedPlan extends RetentionPlan {
  readonly limits: RetentionLimits;
}

/** The size of what is kept, as `agtpd status` shows it. */
export interface JournalSize {
  readonly segments: number;
  readonly bytes: number;
  /** The file name of the last segment that was cut. */
  readonly cutThrough: string | undefined;
}

/** One look for what is due. */
export interface RetentionRun {
  /** Milliseconds since the epoch. */
  now(): number;
  /** True once nothing more should begin. */
  isOver(): boolean;
  /** Told of a cut once its segments are gone. */
  onCut(cut: JournalCut): void;
}

/** Where records are cut off: the files of a journal, or a database. */
export interface RetainedRecords {
  /** Finishes what a killed process began, and cuts what is due; rejects with why it cannot. */
  keep(plan: LimitedPlan, run: RetentionRun): Promise<void>;
  /** Looks for records that went in this archive from now on. */
  follow(archive: string | undefined): void;
  /** This process has no limits to keep any more: others may. */
  release?(): Promise<void>;
  /** Where a record went; undefined where nothing is known of it. */
  whereCut(auditId: string): Promise<WhereCut | undefined>;
  /** Undefined where nobody has measured it. */
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

  /** Puts a plan in force, from now on. */
  apply(plan: RetentionPlan): void {
    this.#plan = plan;
    this.#records.follow(plan.limits?.archive);
    if (this.#timer !== undefined || this.#isClosed) return;
    void this.run();
    this.#timer = setInterval(() => void this.run(), EVERY_MS);
    this.#timer.unref();
  }

  /** Cuts what is due now; faults are told, not thrown. */
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

  /** Once for each reason: the next try is ten seconds away. */
  #tell(error: unknown): void {
    const reason = reasonOf(error);
    if (reason !== this.#failure) this.#options.onNotice?.(retentionFailed(reason));
    this.#failure = reason;
  }
}

/** A segment that may go. */
export interface MeasuredSegment {
  readonly number: number;
  readonly bytes: number;
  /** When its newest record was made, in milliseconds since the epoch; asked for where age matters. */
  newestAt(): number | Promise<number>;
}

/** The segments that are to go, the oldest first; `total` has the octets of all that is kept. */
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

/** True where age matters, and what is open began so long ago that it is finished: it comes of age as well. */
export function isDayOld(firstAt: number, { days }: RetentionLimits, now: number): boolean {
  return days !== undefined && firstAt < now - DAY_MS;
}
