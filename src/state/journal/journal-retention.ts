/**
 * Keeps a journal within the age and the size that an operator wants: finished segments go, the oldest
 * first, each behind a signed checkpoint. The open one never goes, nor one that the store has not taken
 * in yet, nor any while an export reads them.   AGTP-IDENTIFIERS "Audit Log"
 */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { reasonOf } from "../../base/thrown.ts";
import type { StateNotice } from "../notice.ts";
import type { RecordSigner } from "../records/signer.ts";
import { ArchivedRecords, type WhereCut } from "./archived-records.ts";
import { readLastCut } from "./cut-file.ts";
import type { JournalCut } from "./cut-record.ts";
import { DISK } from "./journal-disk.ts";
import { journalCut, retentionFailed } from "./journal-notices.ts";
import { type CutPlace, type CutStep, moveSegments, writeCut } from "./make-cut.ts";
import { segmentName } from "./segment.ts";
import { readSegmentTimes, type SegmentTimes } from "./segment-times.ts";

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

/** The journal that is kept within limits. */
export interface RetainedJournal {
  readonly directory: string;
  /** Segments that are not written any more, in order. */
  readonly finished: readonly number[];
  /** The one that is. */
  readonly open: number;
  /** The store knows all that stands before this segment. */
  readonly takenIn: number;
  /** True while somebody reads the journal from its beginning. */
  readonly isHeld: boolean;
  /** Segments are there no more. */
  forget(numbers: readonly number[]): void;
  /** Begins the next segment, unless the open one is empty or being synced. */
  rotate(): void;
}

interface RetentionOptions {
  readonly journal: RetainedJournal;
  onNotice?(notice: StateNotice): void;
  now?(): number;
  onStep?(step: CutStep): void;
}

/** The size of a journal, as `agtpd status` shows it. */
export interface JournalSize {
  readonly segments: number;
  readonly bytes: number;
  /** The file name of the last segment that was cut. */
  readonly cutThrough: string | undefined;
}

const EVERY_MS = 10_000;
const DAY_MS = 86_400_000;

export class JournalRetention {
  readonly #options: RetentionOptions;
  readonly #now: () => number;
  readonly #archived: ArchivedRecords;
  readonly #bytes = new Map<number, number>();
  readonly #times = new Map<number, SegmentTimes>();
  #plan: RetentionPlan | undefined;
  #last: JournalCut | undefined;
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #failure = "";

  private constructor(options: RetentionOptions, last: JournalCut | undefined) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#last = last;
    this.#archived = new ArchivedRecords(options.journal.directory);
    this.#archived.follow(last, undefined);
  }

  static async open(options: RetentionOptions): Promise<JournalRetention> {
    return new JournalRetention(options, await readLastCut(options.journal.directory));
  }

  /** Puts a plan in force, from now on. */
  apply(plan: RetentionPlan): void {
    this.#plan = plan;
    this.#archived.follow(this.#last, plan.limits?.archive);
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

  /** Where a record went that was in the journal; undefined where nothing is known of it. */
  whereCut(auditId: string): Promise<WhereCut | undefined> {
    return this.#archived.find(auditId);
  }

  async size(): Promise<JournalSize> {
    const { finished, open } = this.#options.journal;
    const numbers = [...finished, open];
    const last = this.#last;
    const cutThrough = last && segmentName(last.through);
    return { segments: numbers.length, bytes: await this.#bytesOf(numbers), cutThrough };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  async #work(): Promise<void> {
    const { journal } = this.#options;
    const { limits } = this.#plan ?? {};
    if (limits === undefined || this.#isClosed || journal.isHeld) return;
    // A process that was killed may have written a checkpoint and moved nothing.
    if (this.#last !== undefined) await this.#move(this.#last, limits);
    if (limits.days !== undefined) await this.#rotateDaily();
    for (;;) {
      const due = await this.#findDue(limits);
      const plan = this.#plan;
      if (due.length === 0 || plan === undefined || this.#isClosed || journal.isHeld) break;
      const cut = await writeCut(this.#place(limits), due, { ...plan, now: this.#now() });
      this.#last = cut;
      await this.#move(cut, limits);
      this.#options.onNotice?.(journalCut(cut));
    }
    this.#failure = "";
  }

  async #move(cut: JournalCut, limits: RetentionLimits): Promise<void> {
    const gone = await moveSegments(this.#place(limits), cut);
    for (const number of gone) {
      this.#bytes.delete(number);
      this.#times.delete(number);
    }
    if (gone.length > 0) this.#options.journal.forget(gone);
    this.#archived.follow(cut, limits.archive);
  }

  #place({ archive }: RetentionLimits): CutPlace {
    const { journal, onStep } = this.#options;
    const { directory } = journal;
    return { directory, archive, disk: DISK, ...(onStep === undefined ? {} : { onStep }) };
  }

  /** The segments that are to go, the oldest first. */
  async #findDue({ days, bytes }: RetentionLimits): Promise<readonly number[]> {
    const { finished, open, takenIn } = this.#options.journal;
    let total = bytes === undefined ? 0 : await this.#bytesOf([...finished, open]);
    const oldest = days === undefined ? Number.NEGATIVE_INFINITY : this.#now() - days * DAY_MS;
    const due: number[] = [];
    for (const number of finished) {
      if (number >= takenIn) break;
      const isTooMuch = bytes !== undefined && total > bytes;
      if (!isTooMuch && !(days !== undefined && (await this.#timesOf(number)).last < oldest)) break;
      due.push(number);
      total -= await this.#bytesOf([number]);
    }
    return due;
  }

  /** Records of an idle server come of age as well, for which their segment has to be finished. */
  async #rotateDaily(): Promise<void> {
    const { journal } = this.#options;
    if ((await this.#measure(journal.open)) === 0) return;
    const { first } = await readSegmentTimes(journal.directory, journal.open);
    if (first < this.#now() - DAY_MS) journal.rotate();
  }

  async #bytesOf(numbers: readonly number[]): Promise<number> {
    let bytes = 0;
    for (const number of numbers) {
      const known = this.#bytes.get(number);
      const measured = known ?? (await this.#measure(number));
      if (number !== this.#options.journal.open) this.#bytes.set(number, measured);
      bytes += measured;
    }
    return bytes;
  }

  async #measure(number: number): Promise<number> {
    const path = join(this.#options.journal.directory, segmentName(number));
    return stat(path).then(
      ({ size }) => size,
      () => 0,
    );
  }

  async #timesOf(number: number): Promise<SegmentTimes> {
    const known = this.#times.get(number);
    if (known !== undefined) return known;
    const times = await readSegmentTimes(this.#options.journal.directory, number);
    this.#times.set(number, times);
    return times;
  }

  /** Once for each reason: the next try is ten seconds away. */
  #tell(error: unknown): void {
    const reason = reasonOf(error);
    if (reason !== this.#failure) this.#options.onNotice?.(retentionFailed(reason));
    this.#failure = reason;
  }
}
