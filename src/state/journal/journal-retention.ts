/**
 * The segments of a journal as retention takes them away: the open one never goes, nor one that the
 * store has not taken in yet, nor any while an export reads them.   AGTP-IDENTIFIERS "Audit Log"
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

/** The journal that is kept within limits. */
type RetainedJournal = Pick<FileJournal, "directory" | "finished" | "open" | "forget" | "rotate">;

/** How far a journal may be taken away. */
interface JournalUse {
  /** The store knows all that stands before this segment. */
  takenIn(): number;
  /** True while somebody reads the journal from its beginning. */
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
  /** One of which nobody was told: an export began while it was made. */
  #untold: JournalCut | undefined;
  /** The move that is under way, or the last. */
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

  /** `onStep` is told of each step of a cut. */
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
    // A process that was killed may have written a checkpoint and moved nothing.
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
      // A reader that began before it was written needs all that it names.
      if (this.#use.isHeld()) break;
      await this.#move(cut, limits);
      if (this.#use.isHeld()) break;
      this.#untold = undefined;
      onCut(cut);
    }
  }

  /** A cut that was written and not seen through, as where the disk did not sync, is made by now. */
  async #adoptWritten(): Promise<void> {
    const { directory } = this.#journal;
    const last = await readLastCut(directory);
    if (last?.cutId === this.#last?.cutId) return;
    await DISK.syncDirectory(directory);
    this.#last = last;
    this.#untold = last;
  }

  /** Resolves once nothing is being taken away, where the journal is held. */
  async still(): Promise<void> {
    await this.#moving.catch(() => undefined);
  }

  #move(cut: JournalCut, limits: RetentionLimits): Promise<void> {
    this.#moving = this.#moveNow(cut, limits);
    return this.#moving;
  }

  async #moveNow(cut: JournalCut, limits: RetentionLimits): Promise<void> {
    // Before the first of them goes: a caller that asks for a record of it meanwhile is told where it is.
    this.#archived.follow(cut, this.#archive);
    try {
      await moveSegments(this.#place(limits), cut);
    } finally {
      // Also where the rest could not go, as onto a disk that is full.
      this.#forgetGone();
    }
  }

  /** Throws where segments that were signed as archived have no archive to go to: nothing may go before them. */
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

  /** The segments that are to go, the oldest first. */
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

  /** Records of an idle server come of age as well, for which their segment has to be finished. */
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

/** The times of the first and the last record of a segment, in milliseconds since the epoch. */
interface SegmentTimes {
  readonly first: number;
  readonly last: number;
}

const CHUNK = 64 * 1024;

/** Reads the ends of a segment alone; a record that is too long to be seen counts with the time of the file. */
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
