/**
 * The journal on the disk: segments that are only appended to, the next one begun when one is full,
 * each finished one with an index and a line in the manifest of segments.
 * AGTP-IDENTIFIERS "Audit Log"
 */
import { dirname } from "node:path";
import { makeDirectory } from "../base/make-directory.ts";
import { reasonOf } from "../base/thrown.ts";
import { FinishedSegments, readRecord } from "./finished-segments.ts";
import type { Journal, JournalRecord, RecordPlace } from "./journal.ts";
import { DISK, type JournalDisk } from "./journal-disk.ts";
import { JournalSync } from "./journal-sync.ts";
import type { StateNotice } from "./notice.ts";
import { RecordPlaces } from "./record-places.ts";
import {
  ActiveSegment,
  listSegments,
  readSegment,
  type StoredRecord,
  segmentName,
} from "./segment.ts";
import { readRecords } from "./segment-index.ts";
import { writeSyncedMark } from "./synced-mark.ts";

/** Where in the journal a record would be appended. */
export interface JournalPosition {
  readonly segment: number;
  readonly offset: number;
}

export interface FileJournalOptions {
  readonly directory: string;
  /** A segment that has so many octets is finished. */
  readonly segmentBytes?: number;
  /** Numbers below this one were used before. */
  readonly firstSegment?: number;
  /** Called when a segment was finished. */
  onFinished?(): void;
  /** Hears of faults in the background: indexes and the manifest can be made again. */
  onFault(error: unknown): void;
  onNotice?(notice: StateNotice): void;
  readonly disk?: JournalDisk;
}

const SEGMENT_BYTES = 16 * 1024 * 1024;

export class FileJournal implements Journal {
  readonly #directory: string;
  readonly #segmentBytes: number;
  readonly #onFinished: () => void;
  readonly #onFault: (error: unknown) => void;
  readonly #onNotice: (notice: StateNotice) => void;
  readonly #disk: JournalDisk;
  readonly #finished: FinishedSegments;
  readonly #sync = new JournalSync(() => this.#syncWritten());
  /** A segment was made whose name is not on the disk yet. */
  #isDirectoryDue = true;
  #active: ActiveSegment;
  /** Of the active segment. */
  #records: RecordPlaces;
  /** The active segment is finished with so many octets. */
  #fullAt: number;
  /** The record that this process wrote last. */
  #newest: readonly [JournalRecord, RecordPlace] | undefined;

  private constructor(
    options: FileJournalOptions,
    finished: readonly number[],
    active: ActiveSegment,
    records: RecordPlaces,
  ) {
    const { directory, segmentBytes = SEGMENT_BYTES, disk = DISK } = options;
    this.#directory = directory;
    this.#disk = disk;
    this.#onNotice = (notice) => options.onNotice?.(notice);
    this.#segmentBytes = segmentBytes;
    this.#fullAt = segmentBytes;
    this.#onFinished = () => options.onFinished?.();
    this.#onFault = (error) => options.onFault(error);
    this.#finished = new FinishedSegments(directory, finished, this.#onFault);
    this.#active = active;
    this.#records = records;
  }

  /** Opens the journal of a directory, which is made when it is not there. */
  static async open(options: FileJournalOptions): Promise<FileJournal> {
    const { directory, firstSegment = 1, disk } = options;
    makeDirectory(directory, 0o700);
    const numbers = listSegments(directory);
    const last = Math.max(numbers.at(-1) ?? 0, firstSegment);
    const finished = numbers.filter((number) => number !== last);
    const active = new ActiveSegment(directory, last, disk);
    if (active.cutOctets > 0) options.onNotice?.(tailCut(active));
    const records = await readRecords(directory, last);
    const journal = new FileJournal(options, finished, active, records);
    // Records written before a crash may not be on the disk yet.
    journal.#sync.mark();
    return journal;
  }

  get position(): JournalPosition {
    return { segment: this.#active.number, offset: this.#active.size };
  }

  /** Every record from a position on, in the order they were written. */
  async *replay(
    from: JournalPosition,
  ): AsyncGenerator<StoredRecord & { readonly segment: number }> {
    for (const number of [...this.#finished.numbers, this.#active.number]) {
      if (number < from.segment) continue;
      const offset = number === from.segment ? from.offset : 0;
      for await (const record of readSegment(this.#directory, number, offset)) {
        yield { ...record, segment: number };
      }
    }
  }

  write(records: readonly JournalRecord[]): JournalPosition {
    let lines = "";
    for (const { jws } of records) lines += `${jws}\n`;
    const { position } = this;
    let { offset } = position;
    this.#active.append(lines);
    this.#sync.mark();
    for (const record of records) {
      const { length } = record.jws;
      this.#records.add(record.auditId, offset, length);
      this.#newest = [record, { segment: position.segment, offset, length }];
      offset += length + 1;
    }
    if (offset >= this.#fullAt) this.#finish();
    return position;
  }

  probe(): void {
    this.#active.probe();
  }

  /** Resolves once everything that was written so far is on the disk, or has been told not to be. */
  async sync(): Promise<void> {
    await this.#sync.flush();
    await this.#finished.settled();
  }

  async find(auditId: string): Promise<string | undefined> {
    const place = this.#records.find(auditId);
    if (place === undefined) return this.#finished.find(auditId);
    return readRecord(this.#directory, this.#active.number, place, auditId);
  }

  async close(): Promise<void> {
    await this.sync();
    await this.#active.close();
  }

  /** A failed sync leaves the segment in doubt, so the next records go to another one. */
  async #syncWritten(): Promise<void> {
    if (this.#active.hasFailedSync) this.#finish();
    const active = this.#active;
    try {
      if (this.#isDirectoryDue) {
        this.#isDirectoryDue = false;
        await this.#disk.syncDirectory(this.#directory);
        await this.#disk.syncDirectory(dirname(this.#directory));
      }
      const newest = this.#newest;
      await active.sync();
      this.#noteSynced(newest);
    } catch (error) {
      this.#isDirectoryDue = true;
      const file = segmentName(active.number);
      const reason = reasonOf(error);
      const message = `${file} cannot be synced: a power cut may lose its records; the next segment is begun`;
      this.#onNotice({
        level: "error",
        event: "journal-sync-failed",
        message,
        fields: { file, reason },
      });
      if (this.#active === active) this.#finish();
    }
  }

  /** One of a segment that was finished meanwhile may still wait for its own sync. */
  #noteSynced(newest: readonly [JournalRecord, RecordPlace] | undefined): void {
    if (newest === undefined || newest[1].segment !== this.#active.number) return;
    try {
      writeSyncedMark(this.#directory, ...newest);
    } catch (error) {
      // A sync is no less one because nobody is told.
      this.#onFault(error);
    }
  }

  /** Begins the next segment. */
  #finish(): void {
    const full = this.#active;
    try {
      this.#active = new ActiveSegment(this.#directory, full.number + 1, this.#disk);
    } catch (error) {
      // Written records are kept all the same; the segment grows until the next can be begun.
      this.#fullAt += this.#segmentBytes;
      this.#onFault(error);
      return;
    }
    this.#isDirectoryDue = true;
    this.#sync.mark();
    this.#finished.add(full, this.#records);
    this.#records = new RecordPlaces();
    this.#fullAt = this.#segmentBytes;
    this.#onFinished();
  }
}

function tailCut({ number, cutOctets }: ActiveSegment): StateNotice {
  const file = segmentName(number);
  const message = `${file} ended in half a record, which was never acknowledged and is cut off`;
  return {
    level: "warn",
    event: "journal-tail-cut",
    message,
    fields: { file, octets: cutOctets },
  };
}
