/**
 * One segment of the journal: a file of compact JWS, one a line, that only grows. What a crash left
 * of a last line was never acknowledged, and is cut off.   AGTP-IDENTIFIERS "Audit Log"
 */
import { hash } from "node:crypto";
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  ftruncateSync,
  readdirSync,
  readSync,
} from "node:fs";
import { join } from "node:path";
import { OctetLines } from "../../base/line-reader.ts";
import { openStateFile } from "../../base/state-files.ts";
import { codeOf } from "../../base/thrown.ts";
import type { JournalRecord } from "./journal.ts";
import { DISK, type JournalDisk } from "./journal-disk.ts";
import type { PackedRecords } from "./packed-records.ts";

/** Where a line stands in its segment, in octets; the length is without the line feed. */
export interface Extent {
  readonly offset: number;
  readonly length: number;
}

/** A record that was read, and where. */
export interface StoredRecord extends JournalRecord, Extent {
  readonly length: number;
}

export interface SegmentPlace {
  readonly directory: string;
  readonly number: number;
}

const NAME = /^\d{8}\.jws$/;
export const LINE_FEED = 0x0a;
/** No line that this program writes is longer: its texts come from heads that are bounded. */
export const MAX_LINE: number = 1024 * 1024;
/** A disk that lost part of a segment may have left one line of all that stood there. */
export const MAX_DAMAGED_LINE: number = 64 * 1024 * 1024;
const CHUNK = 64 * 1024;
const APPENDING = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND;
/** More than most groups of records take. */
const PROBE = Buffer.alloc(16 * 1024, " ");
/**
 * The lines that are written next. As one text, a turn's records were copied twice, to fresh pages each
 * time: a tenth of what a request with an unsigned record took.
 */
const LINES = Buffer.allocUnsafeSlow(64 * 1024);

/** The file name of a segment; they are numbered from 1. */
export function segmentName(number: number): string {
  return `${String(number).padStart(8, "0")}.jws`;
}

/** The number in a segment's file name; undefined for any other file. */
export function segmentNumber(name: string): number | undefined {
  return NAME.test(name) ? Number(name.slice(0, 8)) : undefined;
}

/** The numbers of the segments in a directory, in order. */
export function listSegments(directory: string): readonly number[] {
  return readdirSync(directory)
    .flatMap((name) => segmentNumber(name) ?? [])
    .sort((left, right) => left - right);
}

/** Lists the segments of a directory, none where there is no such directory. */
export function segmentsIn(directory: string): readonly number[] {
  try {
    return listSegments(directory);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** The records of a segment from an offset on, in order. */
export async function* readSegment(
  directory: string,
  number: number,
  from = 0,
): AsyncGenerator<StoredRecord> {
  const name = segmentName(number);
  const lines = new OctetLines(MAX_DAMAGED_LINE, () => new Error(`${name} holds no journal lines`));
  let offset = from;
  const stream = createReadStream(join(directory, name), { start: from, highWaterMark: CHUNK });
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    for (const line of lines.take(chunk)) {
      yield recordOf(line, offset);
      offset += line.length + 1;
    }
  }
  // It is told of like any line that is none: half a record is never that long.
  const rest = lines.rest();
  if (rest.length > MAX_LINE) yield recordOf(rest, offset);
}

/** The record that a line is. */
export function recordOf(line: Buffer, offset: number): StoredRecord {
  const jws = line.toString("latin1");
  return { jws, auditId: hash("sha256", jws), offset, length: jws.length };
}

/** The segment that is being written. */
export class ActiveSegment {
  readonly number: number;
  /** Undefined once it is closed: another file or socket has the descriptor then. */
  #descriptor: number | undefined;
  #size: number;
  /** Octets of a torn last line that were cut off. */
  readonly cutOctets: number;
  readonly #disk: JournalDisk;
  /** True while the rest of a failed write is still there, which nothing may follow. */
  #isTorn = false;
  #synced: Promise<void> = Promise.resolve();
  #hasFailedSync = false;
  #isClosed = false;

  /** Opens the segment, or begins it; cuts a torn last line off. */
  constructor(directory: string, number: number, disk: JournalDisk = DISK) {
    this.number = number;
    this.#disk = disk;
    this.#descriptor = openStateFile(join(directory, segmentName(number)), APPENDING);
    const { size } = fstatSync(this.#file);
    this.#size = endOfLastLine(this.#file, size);
    this.cutOctets = size - this.#size;
    if (this.cutOctets > 0) ftruncateSync(this.#file, this.#size);
  }

  get size(): number {
    return this.#size;
  }

  get #file(): number {
    if (this.#descriptor === undefined) throw new Error(`${segmentName(this.number)} is closed`);
    return this.#descriptor;
  }

  /** Appends records, a line each and packed ones last, all of them or none; throws when it cannot. */
  append(records: readonly JournalRecord[], packed: readonly PackedRecords[]): void {
    if (this.#isTorn) this.#cut();
    try {
      let octets = this.#writeLines(records);
      for (const { lines } of packed) {
        this.#write(lines);
        octets += lines.length;
      }
      this.#size += octets;
    } catch (error) {
      this.#isTorn = true;
      this.#cut();
      throw error;
    }
  }

  /** Throws while the disk takes nothing; leaves nothing behind. */
  probe(): void {
    this.#isTorn = true;
    try {
      this.#write(PROBE);
    } finally {
      this.#cut();
    }
  }

  /** Once a sync has failed, a later one that does not says nothing about what is on the disk. */
  get hasFailedSync(): boolean {
    return this.#hasFailedSync;
  }

  /**
   * Resolves once what was appended is on the disk; after one failure, each fails as that did. A
   * segment is closed behind its last sync, and what is asked for later is that one.
   */
  sync(isAlone = false): Promise<void> {
    if (this.#isClosed) return this.#synced;
    this.#synced = this.#synced.then(() => this.#disk.sync(this.#file, isAlone));
    this.#synced.catch(() => {
      this.#hasFailedSync = true;
    });
    return this.#synced;
  }

  /** Writes something, has it synced, and takes it back: throws while a disk keeps nothing. */
  async probeSync(): Promise<void> {
    this.#isTorn = true;
    try {
      this.#write(PROBE);
      await this.sync();
    } finally {
      this.#cut();
    }
  }

  /** Takes back what was appended beyond a size. */
  takeBack(size: number): void {
    this.#size = size;
    this.#isTorn = true;
    this.#cut();
  }

  /** Closes the segment behind a sync that still runs; once, however often it is asked to. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#synced.catch(() => undefined);
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Answers how many octets the lines have. */
  #writeLines(records: readonly JournalRecord[]): number {
    let octets = 0;
    let collected = 0;
    for (const { jws } of records) {
      const length = jws.length + 1;
      octets += length;
      if (collected + length > LINES.length) {
        this.#write(LINES.subarray(0, collected));
        collected = 0;
      }
      if (length > LINES.length) {
        this.#write(Buffer.from(`${jws}\n`, "latin1"));
        continue;
      }
      LINES.write(jws, collected, "latin1");
      collected += length;
      LINES[collected - 1] = LINE_FEED;
    }
    this.#write(LINES.subarray(0, collected));
    return octets;
  }

  #write(octets: Uint8Array): void {
    for (let rest = octets; rest.length > 0; ) {
      rest = rest.subarray(this.#disk.write(this.#file, rest));
    }
  }

  #cut(): void {
    ftruncateSync(this.#file, this.#size);
    this.#isTorn = false;
  }
}

function endOfLastLine(file: number, size: number): number {
  const chunk = Buffer.alloc(CHUNK);
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - CHUNK);
    const count = readSync(file, chunk, 0, end - start, start);
    const at = chunk.subarray(0, count).lastIndexOf(LINE_FEED);
    if (at !== -1) return start + at + 1;
    end = start;
  }
  return 0;
}
