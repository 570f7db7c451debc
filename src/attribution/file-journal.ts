/**
 * The journal on the disk: segments that are only appended to, the next one begun when one is full,
 * each finished one with an index and a line in the manifest of segments.
 * AGTP-IDENTIFIERS "Audit Log"
 */
import { mkdirSync, readdirSync } from "node:fs";
import type { Journal, JournalRecord } from "./journal.ts";
import {
  ActiveSegment,
  type Extent,
  readSegment,
  type StoredRecord,
  segmentNumber,
} from "./segment.ts";
import { findInIndex, type IndexedRecord, readExtent, writeIndex } from "./segment-index.ts";
import { describeSegment } from "./segment-manifest.ts";

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
  readonly #options: FileJournalOptions;
  readonly #directory: string;
  readonly #finished: number[];
  #active: ActiveSegment;
  /** Of the active segment. */
  #records: IndexedRecord[] = [];
  /** Segments whose index is being written. */
  readonly #finishing = new Map<number, readonly IndexedRecord[]>();
  #work: Promise<void> = Promise.resolve();

  private constructor(options: FileJournalOptions, finished: number[], active: ActiveSegment) {
    this.#options = options;
    this.#directory = options.directory;
    this.#finished = finished;
    this.#active = active;
  }

  /** Opens the journal of a directory, which is made when it is not there. */
  static async open(options: FileJournalOptions): Promise<FileJournal> {
    const { directory, firstSegment = 1 } = options;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const numbers = segmentsOf(directory);
    const last = Math.max(numbers.pop() ?? 0, firstSegment);
    const journal = new FileJournal(options, numbers, new ActiveSegment(directory, last));
    for await (const { auditId, offset, length } of readSegment(directory, last)) {
      journal.#records.push({ auditId, offset, length });
    }
    // A process that was killed may have left the last finished segment without these.
    const previous = numbers.at(-1);
    if (previous !== undefined) journal.#beside(() => describeSegment(directory, previous));
    return journal;
  }

  get position(): JournalPosition {
    return { segment: this.#active.number, offset: this.#active.size };
  }

  /** Every record from a position on, in the order they were written. */
  async *replay(from: JournalPosition): AsyncGenerator<StoredRecord> {
    for (const number of [...this.#finished, this.#active.number]) {
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
      this.#records.push({ auditId, offset, length: jws.length });
      offset += jws.length + 1;
    }
    if (offset >= (this.#options.segmentBytes ?? SEGMENT_BYTES)) this.#finish();
  }

  async find(auditId: string): Promise<string | undefined> {
    // Seldom asked for, while every request adds one.
    const place = this.#records.find((record) => record.auditId === auditId);
    if (place !== undefined) return readExtent(this.#directory, this.#active.number, place);
    // A segment that is finished meanwhile was looked at just now.
    for (const number of this.#finished.toReversed()) {
      const extent = await this.#findIn(number, auditId);
      if (extent !== undefined) return readExtent(this.#directory, number, extent);
    }
    return undefined;
  }

  async close(): Promise<void> {
    await this.#work;
    this.#active.close();
  }

  async #findIn(number: number, auditId: string): Promise<Extent | undefined> {
    const records = this.#finishing.get(number);
    if (records !== undefined) return records.find((record) => record.auditId === auditId);
    return findInIndex(this.#directory, number, auditId);
  }

  /** Begins the next segment; what the finished one still needs is done beside serving. */
  #finish(): void {
    const { number } = this.#active;
    const records = this.#records;
    this.#active.close();
    this.#active = new ActiveSegment(this.#directory, number + 1);
    this.#records = [];
    this.#finished.push(number);
    this.#finishing.set(number, records);
    this.#beside(async () => {
      await writeIndex(this.#directory, number, records).finally(() => {
        this.#finishing.delete(number);
      });
      await describeSegment(this.#directory, number, records);
    });
    this.#options.onFinished?.();
  }

  /** Work that nobody waits for, one after another. */
  #beside(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch((error: unknown) => this.#options.onFault(error));
  }
}

function segmentsOf(directory: string): number[] {
  return readdirSync(directory)
    .flatMap((name) => segmentNumber(name) ?? [])
    .sort((left, right) => left - right);
}
