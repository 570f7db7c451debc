/**
 * The journal on the disk: segments that are only appended to, the next one begun when one is full,
 * each finished one with an index and a line in the manifest of segments.
 * AGTP-IDENTIFIERS "Audit Log"
 */
import { readdirSync } from "node:fs";
import { makeDirectory } from "../make-directory.ts";
import { FinishedSegments, readRecord } from "./finished-segments.ts";
import type { Journal, JournalRecord } from "./journal.ts";
import { RecordPlaces } from "./record-places.ts";
import { ActiveSegment, readSegment, type StoredRecord, segmentNumber } from "./segment.ts";
import { readRecords } from "./segment-index.ts";

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
  /** What goes wrong behind the scenes: indexes and the manifest can be made again. */
  onFault(error: unknown): void;
}

const SEGMENT_BYTES = 16 * 1024 * 1024;

export class FileJournal implements Journal {
  readonly #directory: string;
  readonly #segmentBytes: number;
  readonly #onFinished: () => void;
  readonly #onFault: (error: unknown) => void;
  readonly #finished: FinishedSegments;
  #active: ActiveSegment;
  /** Of the active segment. */
  #records: RecordPlaces;
  /** The active segment is finished with so many octets. */
  #fullAt: number;

  private constructor(
    options: FileJournalOptions,
    finished: readonly number[],
    active: ActiveSegment,
    records: RecordPlaces,
  ) {
    const { directory, segmentBytes = SEGMENT_BYTES } = options;
    this.#directory = directory;
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
    const { directory, firstSegment = 1 } = options;
    makeDirectory(directory, 0o700);
    const numbers = segmentsOf(directory);
    const last = Math.max(numbers.at(-1) ?? 0, firstSegment);
    const finished = numbers.filter((number) => number !== last);
    const active = new ActiveSegment(directory, last);
    return new FileJournal(options, finished, active, await readRecords(directory, last));
  }

  get position(): JournalPosition {
    return { segment: this.#active.number, offset: this.#active.size };
  }

  /** Every record from a position on, in the order they were written. */
  async *replay(from: JournalPosition): AsyncGenerator<StoredRecord> {
    for (const number of [...this.#finished.numbers, this.#active.number]) {
      if (number < from.segment) continue;
      const offset = number === from.segment ? from.offset : 0;
      yield* readSegment(this.#directory, number, offset);
    }
  }

  write(records: readonly JournalRecord[]): void {
    let lines = "";
    for (const { jws } of records) lines += `${jws}\n`;
    let offset = this.#active.size;
    this.#active.append(lines);
    for (const { auditId, jws } of records) {
      this.#records.add(auditId, offset, jws.length);
      offset += jws.length + 1;
    }
    if (offset >= this.#fullAt) this.#finish();
  }

  async find(auditId: string): Promise<string | undefined> {
    const place = this.#records.find(auditId);
    if (place === undefined) return this.#finished.find(auditId);
    return readRecord(this.#directory, this.#active.number, place, auditId);
  }

  async close(): Promise<void> {
    await this.#finished.close();
    this.#active.close();
  }

  /** Begins the next segment. */
  #finish(): void {
    const full = this.#active;
    try {
      this.#active = new ActiveSegment(this.#directory, full.number + 1);
    } catch (error) {
      // What was written is kept all the same; the segment grows until the next can be begun.
      this.#fullAt += this.#segmentBytes;
      this.#onFault(error);
      return;
    }
    this.#finished.add(full, this.#records);
    this.#records = new RecordPlaces();
    this.#fullAt = this.#segmentBytes;
    this.#onFinished();
  }
}

function segmentsOf(directory: string): number[] {
  return readdirSync(directory)
    .flatMap((name) => segmentNumber(name) ?? [])
    .sort((left, right) => left - right);
}
