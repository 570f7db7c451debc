/**
 * The journal on disk: append-only segments, the next begun when one is full, each finished one with an index and a
 * line in the manifest of segments.   AGTP-IDENTIFIERS "Audit Log"
 */
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeDirectory } from "../../base/paths.ts";
import { type StateNotice, syncFailed, tailCut } from "../notice.ts";
import { openChainReader } from "../records/chain-reader.ts";
import { FinishedSegments } from "./finished-segments.ts";
import type {
  Journal,
  JournalPosition,
  JournalRecord,
  RecordPlace,
  RecordReader,
} from "./journal.ts";
import { DISK, type JournalDisk } from "./journal-disk.ts";
import { DurableWrites, JournalSync, writeSyncedMark } from "./journal-sync.ts";
import { type RecordPlaces, readPlaces } from "./record-places.ts";
import {
  ActiveSegment,
  listSegments,
  readSegment,
  type StoredRecord,
  segmentName,
} from "./segment.ts";
import { readRecord } from "./segment-index.ts";

export interface FileJournalOptions {
  readonly directory: string;
  /** The size in octets at which a segment is finished. */
  readonly segmentBytes?: number | undefined;
  /** The lowest segment number to use; lower ones were used before. */
  readonly firstSegment?: number;
  /** Called after a segment was finished. */
  onFinished?(): void;
  /** Called with background faults; indexes and the manifest can be rebuilt. */
  onFault(error: unknown): void;
  onNotice?(notice: StateNotice): void;
  readonly disk?: JournalDisk | undefined;
  /** True if records are written by `writeDurably` only. */
  readonly isPowerSafe?: boolean;
}

const SEGMENT_BYTES = 16 * 1024 * 1024;

export class FileJournal implements Journal {
  readonly directory: string;
  readonly #options: FileJournalOptions;
  readonly #segmentBytes: number;
  readonly #disk: JournalDisk;
  readonly #finished: FinishedSegments;
  readonly #sync = new JournalSync(() => this.#syncWritten());
  /** True if a new segment's name is not on the disk yet. */
  #isDirectoryDue = true;
  #active: ActiveSegment;
  #records: RecordPlaces;
  /** The size at which the active segment is finished. */
  #fullAt: number;
  readonly #durable: DurableWrites;
  /** The last record that this process wrote. */
  #newest: readonly [JournalRecord, RecordPlace] | undefined;
  /** The newest record known to be on the disk. */
  #kept: readonly [JournalRecord, RecordPlace] | undefined;
  /** True if the mark's failure was reported; there may be two a second. */
  #hasFailedMark = false;

  private constructor(
    options: FileJournalOptions,
    finished: readonly number[],
    active: ActiveSegment,
    records: RecordPlaces,
  ) {
    const { directory, segmentBytes = SEGMENT_BYTES, disk = DISK } = options;
    this.directory = directory;
    this.#options = options;
    this.#disk = disk;
    this.#segmentBytes = segmentBytes;
    this.#fullAt = segmentBytes;
    this.#finished = new FinishedSegments(directory, finished, (error) => options.onFault(error));
    this.#active = active;
    this.#records = records;
    this.#durable = new DurableWrites({
      append: (...records) => this.#append(...records),
      sync: (isAlone) => this.#syncActive(isAlone),
      abandon: (position, error) => this.#abandon(position, error),
      kept: () => {
        this.#kept = this.#newest;
        this.#finishIfFull();
      },
      probe: () => this.#probeSync(),
    });
  }

  /** Opens the journal of a directory, creating it if needed. */
  static async open(options: FileJournalOptions): Promise<FileJournal> {
    const { directory, firstSegment = 1, disk } = options;
    makeDirectory(directory, 0o700);
    const numbers = listSegments(directory);
    const last = Math.max(numbers.at(-1) ?? 0, firstSegment);
    const finished = numbers.filter((number) => number !== last);
    const active = new ActiveSegment(directory, last, disk);
    if (active.cutOctets > 0) options.onNotice?.(tailCut(segmentName(last), active.cutOctets));
    const records = await readPlaces(directory, last);
    const journal = new FileJournal(options, finished, active, records);
    // Records written before a crash may not be on the disk yet.
    if (options.isPowerSafe === true) await journal.#syncNow();
    else journal.#sync.mark();
    return journal;
  }

  /** The position before which every record is stored and may be a chain's head. */
  get position(): JournalPosition {
    return this.#durable.pending ?? this.#end;
  }

  /** The finished segments, in order. */
  get finished(): readonly number[] {
    return this.#finished.numbers;
  }

  /** The number of the active segment. */
  get open(): number {
    return this.#active.number;
  }

  /** Forgets segments that were moved or deleted. */
  forget(numbers: readonly number[]): void {
    this.#finished.remove(numbers);
  }

  /** Begins the next segment, unless the active one is empty or being synced. */
  rotate(): void {
    if (this.#active.size > 0 && this.#durable.pending === undefined) this.#finish();
  }

  get #end(): JournalPosition {
    return { segment: this.#active.number, offset: this.#active.size };
  }

  /** Yields the records from a position on, in the order of writing. */
  async *replay(
    from: JournalPosition,
  ): AsyncGenerator<StoredRecord & { readonly segment: number }> {
    for (const number of [...this.#finished.numbers, this.#active.number]) {
      if (number < from.segment) continue;
      const offset = number === from.segment ? from.offset : 0;
      for await (const record of readSegment(this.directory, number, offset)) {
        yield { ...record, segment: number };
      }
    }
  }

  write(...records: Parameters<Journal["write"]>): JournalPosition {
    const position = this.#append(...records);
    this.#finishIfFull();
    return position;
  }

  /**
   * Writes like `write`, and resolves once a power failure cannot lose the records; one call at a time. After a
   * failed sync they are written again, to the next segment.
   */
  writeDurably(...records: Parameters<Journal["write"]>): Promise<JournalPosition> {
    return this.#durable.write(...records);
  }

  #append(...[records, packed = []]: Parameters<Journal["write"]>): JournalPosition {
    const position = this.#end;
    this.#active.append(records, packed);
    this.#sync.mark();
    let offset = this.#records.add(records, position.offset);
    for (const some of packed) {
      this.#records.addPacked(some, offset);
      offset += some.lines.length;
    }
    const last = packed.at(-1);
    const newest = last?.recordOf(last.count - 1) ?? records.at(-1);
    if (newest !== undefined) {
      const { length } = newest.jws;
      this.#newest = [newest, { segment: position.segment, offset: offset - length - 1, length }];
    }
    return position;
  }

  #finishIfFull(): void {
    if (this.#active.size >= this.#fullAt) this.#finish();
  }

  probe(): void {
    this.#durable.check();
    this.#active.probe();
  }

  /** Resolves once everything written so far is on the disk, or its failure was reported. */
  async sync(): Promise<void> {
    await this.#sync.flush();
    await this.#finished.settled();
  }

  async find(auditId: string): Promise<string | undefined> {
    const place = await this.#locate(auditId);
    return place && readRecord(this.directory, place, auditId);
  }

  openReader(): RecordReader {
    return openChainReader(this.directory, (auditId) => this.#locate(auditId));
  }

  async #locate(auditId: string): Promise<RecordPlace | undefined> {
    const extent = this.#records.find(auditId);
    return extent === undefined
      ? this.#finished.locate(auditId)
      : { segment: this.#active.number, ...extent };
  }

  async close(): Promise<void> {
    this.#durable.close();
    await this.sync();
    await this.#active.close();
  }

  /** Syncs pending writes; durable writes have synced their own. */
  async #syncWritten(): Promise<void> {
    if (this.#options.isPowerSafe !== true) await this.#syncNow();
    this.#noteSynced(this.#kept);
  }

  /** A failed sync leaves the segment in doubt, so the next records go to another one. */
  async #syncNow(): Promise<void> {
    if (this.#active.hasFailedSync) this.#finish();
    const active = this.#active;
    try {
      const newest = this.#newest;
      await this.#syncActive();
      this.#kept = newest;
    } catch (error) {
      this.#tellFailure(active, error);
      if (this.#active === active) this.#finish();
    }
  }

  /** Syncs the active segment, after its directory entry. */
  async #syncActive(isAlone = false): Promise<void> {
    const active = this.#active;
    if (this.#isDirectoryDue) await this.#syncDirectories();
    await active.sync(isAlone);
  }

  async #syncDirectories(): Promise<void> {
    this.#isDirectoryDue = false;
    try {
      for (const path of this.#directories()) await this.#disk.syncDirectory(path);
    } catch (error) {
      this.#isDirectoryDue = true;
      throw error;
    }
  }

  /** A directory's entry is in its parent, and the state directory may be new too. */
  #directories(): readonly string[] {
    const above = dirname(this.directory);
    return [this.directory, above, ...(this.#options.isPowerSafe === true ? [dirname(above)] : [])];
  }

  #tellFailure({ number }: ActiveSegment, error: unknown): void {
    this.#options.onNotice?.(syncFailed(segmentName(number), error));
  }

  /** Abandons a segment in doubt, and removes its records from a position on. */
  #abandon(position: JournalPosition, error: unknown): void {
    const doubtful = this.#active;
    this.#tellFailure(doubtful, error);
    this.#newest = undefined;
    this.#records.truncate(position.offset);
    try {
      doubtful.takeBack(position.offset);
    } catch (fault) {
      // The records are then in both segments, identically.
      this.#options.onFault(fault);
    }
    this.#replace(doubtful, error);
  }

  async #probeSync(): Promise<void> {
    if (this.#active.hasFailedSync) this.#replace(this.#active, new Error("it cannot be synced"));
    if (this.#isDirectoryDue) await this.#syncDirectories();
    await this.#active.probeSync();
  }

  /** Replaces a segment in doubt; throws if no other can be begun. */
  #replace(doubtful: ActiveSegment, error: unknown): void {
    if (doubtful.size > 0) this.#finish();
    else {
      // Reuses the number, so that a failing disk is not filled with empty segments.
      rmSync(join(this.directory, segmentName(doubtful.number)), { force: true });
      this.#active = new ActiveSegment(this.directory, doubtful.number, this.#disk);
      this.#isDirectoryDue = true;
      void doubtful.close();
    }
    if (this.#active === doubtful) throw error;
  }

  /** Skips a record of a segment finished meanwhile, which may still await its own sync. */
  #noteSynced(newest: readonly [JournalRecord, RecordPlace] | undefined): void {
    if (newest === undefined || newest[1].segment !== this.#active.number) return;
    try {
      writeSyncedMark(this.directory, ...newest);
      this.#hasFailedMark = false;
    } catch (error) {
      // The sync is valid without the mark.
      if (!this.#hasFailedMark) this.#options.onFault(error);
      this.#hasFailedMark = true;
    }
  }

  /** Begins the next segment. */
  #finish(): void {
    const full = this.#active;
    try {
      this.#active = new ActiveSegment(this.directory, full.number + 1, this.#disk);
    } catch (error) {
      // Written records are safe; the segment grows until the next can be begun.
      this.#fullAt += this.#segmentBytes;
      this.#options.onFault(error);
      return;
    }
    this.#isDirectoryDue = true;
    this.#sync.mark();
    this.#finished.add(full, this.#records);
    this.#records = this.#finished.makePlaces();
    this.#fullAt = this.#segmentBytes;
    this.#options.onFinished?.();
  }
}
