/**
 * The journal on the disk: segments that are only appended to, the next one begun when one is full,
 * each finished one with an index and a line in the manifest of segments.
 * AGTP-IDENTIFIERS "Audit Log"
 */
import { hash } from "node:crypto";
import { mkdirSync, readdirSync } from "node:fs";
import { codeOf } from "../thrown.ts";
import type { Journal, JournalRecord } from "./journal.ts";
import {
  ActiveSegment,
  type Extent,
  readSegment,
  type StoredRecord,
  segmentNumber,
} from "./segment.ts";
import {
  findInIndex,
  type IndexedRecord,
  readExtent,
  readRecords,
  writeIndex,
} from "./segment-index.ts";
import { describeSegments } from "./segment-manifest.ts";

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
  /** Segments that are read for the index that they lack. */
  readonly #indexing = new Map<number, Promise<readonly IndexedRecord[]>>();
  /** The active segment is finished with so many octets. */
  #fullAt: number;
  #work: Promise<void> = Promise.resolve();

  private constructor(options: FileJournalOptions, finished: number[], active: ActiveSegment) {
    this.#options = options;
    this.#directory = options.directory;
    this.#finished = finished;
    this.#active = active;
    this.#fullAt = this.#segmentBytes;
  }

  /** Opens the journal of a directory, which is made when it is not there. */
  static async open(options: FileJournalOptions): Promise<FileJournal> {
    const { directory, firstSegment = 1 } = options;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const numbers = segmentsOf(directory);
    const last = Math.max(numbers.at(-1) ?? 0, firstSegment);
    const finished = numbers.filter((number) => number !== last);
    const journal = new FileJournal(options, finished, new ActiveSegment(directory, last));
    for await (const { auditId, offset, length } of readSegment(directory, last)) {
      journal.#records.push({ auditId, offset, length });
    }
    // A process that was killed may have left finished segments out.
    const described = finished.map((number) => ({ number }));
    journal.#beside(() => describeSegments(directory, described));
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
    if (offset >= this.#fullAt) this.#finish();
  }

  async find(auditId: string): Promise<string | undefined> {
    // Seldom asked for, while every request adds one.
    const place = this.#records.find((record) => record.auditId === auditId);
    if (place !== undefined) return this.#read(this.#active.number, place, auditId);
    // A segment that is finished meanwhile was looked at just now.
    for (const number of this.#finished.toReversed()) {
      const extent = await this.#findIn(number, auditId);
      if (extent !== undefined) return this.#read(number, extent, auditId);
    }
    return undefined;
  }

  get #segmentBytes(): number {
    return this.#options.segmentBytes ?? SEGMENT_BYTES;
  }

  async close(): Promise<void> {
    await this.#work;
    this.#active.close();
  }

  async #findIn(number: number, auditId: string): Promise<Extent | undefined> {
    const records = this.#finishing.get(number);
    if (records !== undefined) return records.find((record) => record.auditId === auditId);
    const found = await findInIndex(this.#directory, number, auditId);
    if (found !== "no-index") return found;
    return (await this.#index(number)).find((record) => record.auditId === auditId);
  }

  /** What was altered since it was written is not the record that is asked for. */
  async #read(number: number, extent: Extent, auditId: string): Promise<string | undefined> {
    const jws = await readExtent(this.#directory, number, extent);
    return hash("sha256", jws) === auditId ? jws : undefined;
  }

  /** Makes the index of a finished segment anew, once for all who wait for it. */
  #index(number: number): Promise<readonly IndexedRecord[]> {
    const running = this.#indexing.get(number);
    if (running !== undefined) return running;
    const indexing = this.#makeIndex(number).finally(() => this.#indexing.delete(number));
    this.#indexing.set(number, indexing);
    return indexing;
  }

  async #makeIndex(number: number): Promise<readonly IndexedRecord[]> {
    try {
      const records = await readRecords(this.#directory, number);
      await writeIndex(this.#directory, number, records).catch(this.#options.onFault);
      return records;
    } catch (error) {
      // Segments may be taken away while the server runs.
      if (codeOf(error) === "ENOENT") return [];
      throw error;
    }
  }

  /** Begins the next segment; what the finished one still needs is done beside serving. */
  #finish(): void {
    const finished = this.#active;
    const { number } = finished;
    const records = this.#records;
    try {
      this.#active = new ActiveSegment(this.#directory, number + 1);
    } catch (error) {
      // What was written is kept all the same; the segment grows until the next can be begun.
      this.#fullAt += this.#segmentBytes;
      this.#options.onFault(error);
      return;
    }
    this.#fullAt = this.#segmentBytes;
    this.#records = [];
    this.#finished.push(number);
    this.#finishing.set(number, records);
    this.#beside(async () => {
      finished.close();
      await writeIndex(this.#directory, number, records).finally(() => {
        this.#finishing.delete(number);
      });
      await describeSegments(this.#directory, [{ number, records }]);
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
