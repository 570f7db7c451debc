/**
 * Retention on a journal's segments: the active one is never removed, nor one that the store has not read yet, nor
 * any during an export.   AGTP-IDENTIFIERS "Audit Log"
 */

import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { ArchivedRecords, type WhereCut } from "./archived-records.ts";
import { readLastCut } from "./cut-file.ts";
import { readCutHeads } from "./cut-heads.ts";
import type { JournalCut } from "./cut-record.ts";
import type { FileJournal } from "./file-journal.ts";
import { DISK } from "./journal-disk.ts";
import { readChainRecord } from "./journal-replay.ts";
import { type CutPlace, type CutStep, moveSegments, writeCut } from "./make-cut.ts";
import {
  findDue,
  isDayOld,
  type JournalSize,
  type LimitedPlan,
  type RetainedRecords,
  type RetentionLimits,
  type RetentionRun,
} from "./retention.ts";
import { listSegments, segmentName } from "./segment.ts";

/** The journal to keep within limits. */
type RetainedJournal = Pick<FileJournal, "directory" | "finished" | "open" | "forget" | "rotate">;

/** The parts of a journal that may be removed. */
interface JournalUse {
  /** The store knows everything before this segment. */
  takenIn(): number;
  /** True while a reader needs the journal from its beginning. */
  isHeld(): boolean;
}

export class JournalRetention implements RetainedRecords {
  readonly #journal: RetainedJournal;
  readonly #use: JournalUse;
  readonly #onStep: ((step: CutStep) => void) | undefined;
  readonly #archived: ArchivedRecords;
  readonly #bytes = new Map<number, number>();
  readonly #times = new Map<number, SegmentTimes>();
  #archive: string | undefined;
  #last: JournalCut | undefined;
  /** A cut that was not reported, because an export began meanwhile. */
  #untold: JournalCut | undefined;
  /** The current move, or the last one. */
  #moving: Promise<void> = Promise.resolve();

  private constructor(
    journal: RetainedJournal,
    use: JournalUse,
    last: JournalCut | undefined,
    onStep: ((step: CutStep) => void) | undefined,
  ) {
    this.#journal = journal;
    this.#use = use;
    this.#last = last;
    this.#onStep = onStep;
    const { directory } = journal;
    this.#archived = new ArchivedRecords(({ heads }) => readCutHeads(directory, heads), directory);
    this.#archived.follow(last, undefined);
  }

  /** Opens retention; `onStep` is called after each step of a cut. */
  static async open(
    journal: RetainedJournal,
    use: JournalUse,
    onStep?: (step: CutStep) => void,
  ): Promise<JournalRetention> {
    return new JournalRetention(journal, use, await readLastCut(journal.directory), onStep);
  }

  follow(archive: string | undefined): void {
    this.#archive = archive;
    this.#archived.follow(this.#last, archive);
  }

  whereCut(auditId: string): Promise<WhereCut | undefined> {
    return this.#archived.find(auditId);
  }

  async size(): Promise<JournalSize> {
    const { finished, open } = this.#journal;
    const numbers = [...finished, open];
    const last = this.#last;
    const cutThrough = last && segmentName(last.through);
    return { segments: numbers.length, bytes: await this.#bytesOf(numbers), cutThrough };
  }

  async keep(plan: LimitedPlan, { now, isOver, onCut }: RetentionRun): Promise<void> {
    const { limits } = plan;
    if (this.#use.isHeld()) return;
    await this.#adoptWritten();
    // A killed process may have written a checkpoint without moving anything.
    if (this.#last !== undefined) {
      await this.#move(this.#last, limits);
      if (this.#use.isHeld()) return;
      this.#checkGone(this.#last);
    }
    if (this.#untold !== undefined) onCut(this.#untold);
    this.#untold = undefined;
    await this.#rotateDaily(limits, now());
    for (;;) {
      const due = await this.#findDue(limits, now());
      if (due.length === 0 || isOver() || this.#use.isHeld()) break;
      const cut = await writeCut(this.#place(limits), due, { ...plan, now: now() });
      this.#last = cut;
      this.#untold = cut;
      // A reader that began before the cut was written needs every segment that it names.
      if (this.#use.isHeld()) break;
      await this.#move(cut, limits);
      if (this.#use.isHeld()) break;
      this.#untold = undefined;
      onCut(cut);
    }
  }

  /** Adopts a cut that was written but not completed, for example because a sync failed. */
  async #adoptWritten(): Promise<void> {
    const { directory } = this.#journal;
    const last = await readLastCut(directory);
    if (last?.cutId === this.#last?.cutId) return;
    await DISK.syncDirectory(directory);
    this.#last = last;
    this.#untold = last;
  }

  /** Resolves once no segment is being removed, while the journal is held. */
  async still(): Promise<void> {
    await this.#moving.catch(() => undefined);
  }

  #move(cut: JournalCut, limits: RetentionLimits): Promise<void> {
    this.#moving = this.#moveNow(cut, limits);
    return this.#moving;
  }

  async #moveNow(cut: JournalCut, limits: RetentionLimits): Promise<void> {
    // Set before the first segment moves, so that a lookup meanwhile finds the record.
    this.#archived.follow(cut, this.#archive);
    try {
      await moveSegments(this.#place(limits), cut);
    } finally {
      // Also if the rest could not move, for example onto a full disk.
      this.#forgetGone();
    }
  }

  /** Throws if segments signed as archived have no archive to go to: nothing may be removed before them. */
  #checkGone({ through }: JournalCut): void {
    const [left] = this.#journal.finished;
    if (left === undefined || left > through) return;
    const gone = `${segmentName(left)} was signed as archived`;
    throw new Error(`${gone}, and no archive is configured: nothing goes before it is there`);
  }

  #forgetGone(): void {
    const { directory, finished } = this.#journal;
    const left = new Set(listSegments(directory));
    const gone = finished.filter((number) => !left.has(number));
    for (const number of gone) {
      this.#bytes.delete(number);
      this.#times.delete(number);
    }
    if (gone.length > 0) this.#journal.forget(gone);
  }

  #place({ archive }: RetentionLimits): CutPlace {
    return {
      ...{ directory: this.#journal.directory, archive, disk: DISK, onStep: this.#onStep },
      isHeld: () => this.#use.isHeld(),
    };
  }

  /** Returns the segments to remove, oldest first. */
  async #findDue(limits: RetentionLimits, now: number): Promise<readonly number[]> {
    const { finished, open } = this.#journal;
    const takenIn = this.#use.takenIn();
    const total = limits.bytes === undefined ? 0 : await this.#bytesOf([...finished, open]);
    const segments = [];
    for (const number of finished) {
      if (number >= takenIn) break;
      const bytes = await this.#bytesOf([number]);
      segments.push({ number, bytes, newestAt: async () => (await this.#timesOf(number)).last });
    }
    return findDue(segments, total, limits, now);
  }

  /** Finishes an old active segment, so that the records of an idle server expire too. */
  async #rotateDaily(limits: RetentionLimits, now: number): Promise<void> {
    const { directory, open } = this.#journal;
    if (limits.days === undefined || (await this.#measure(open)) === 0) return;
    const { first } = await readSegmentTimes(directory, open);
    if (isDayOld(first, limits, now)) this.#journal.rotate();
  }

  async #bytesOf(numbers: readonly number[]): Promise<number> {
    let bytes = 0;
    for (const number of numbers) {
      const known = this.#bytes.get(number);
      const measured = known ?? (await this.#measure(number));
      if (number !== this.#journal.open) this.#bytes.set(number, measured);
      bytes += measured;
    }
    return bytes;
  }

  async #measure(number: number): Promise<number> {
    const path = join(this.#journal.directory, segmentName(number));
    return stat(path).then(
      ({ size }) => size,
      () => 0,
    );
  }

  async #timesOf(number: number): Promise<SegmentTimes> {
    const known = this.#times.get(number);
    const times = known ?? (await readSegmentTimes(this.#journal.directory, number));
    this.#times.set(number, times);
    return times;
  }
}

/** The times of a segment's first and last record, in milliseconds since the epoch. */
interface SegmentTimes {
  readonly first: number;
  readonly last: number;
}

const CHUNK = 64 * 1024;

/** Reads only the ends of a segment; if a record is too long for that, the file's time is used. */
async function readSegmentTimes(directory: string, number: number): Promise<SegmentTimes> {
  const file = await open(join(directory, segmentName(number)), "r");
  try {
    const { size, mtimeMs, birthtimeMs } = await file.stat();
    const octets = Buffer.alloc(Math.min(CHUNK, size));
    await file.read(octets, 0, octets.length, 0);
    const [head = ""] = octets.toString("latin1").split("\n", 1);
    await file.read(octets, 0, octets.length, size - octets.length);
    const tail = octets.toString("latin1").split("\n").at(-2) ?? "";
    return {
      first: readChainRecord(head)?.at ?? birthtimeMs,
      last: readChainRecord(tail)?.at ?? mtimeMs,
    };
  } finally {
    await file.close();
  }
}
