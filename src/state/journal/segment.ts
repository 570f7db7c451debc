/**
 * A segment of the journal: an append-only file of compact JWS, one per line. A partial last line after a crash was
 * never acknowledged, and is cut off.   AGTP-IDENTIFIERS "Audit Log"
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

/** A line's place in its segment, in octets; the length excludes the line feed. */
export interface Extent {
  readonly offset: number;
  readonly length: number;
}

/** A record with its place. */
export interface StoredRecord extends JournalRecord, Extent {
  readonly length: number;
}

export interface SegmentPlace {
  readonly directory: string;
  readonly number: number;
}

const NAME = /^\d{8}\.jws$/;
export const LINE_FEED = 0x0a;
/** The longest line this program writes, as its strings come from bounded heads. */
export const MAX_LINE: number = 1024 * 1024;
/** A disk that lost part of a segment may have merged its lines into one. */
export const MAX_DAMAGED_LINE: number = 64 * 1024 * 1024;
const CHUNK = 64 * 1024;
const APPENDING = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND;
/** More than most groups of records need. */
const PROBE = Buffer.alloc(16 * 1024, " ");
/**
 * A buffer for the next lines. As one string, a turn's records were copied twice, to fresh pages each time: a tenth
 * of the cost of a request with an unsigned record.
 */
const LINES = Buffer.allocUnsafeSlow(64 * 1024);

/** Returns the file name of a segment; numbers begin at 1. */
export function segmentName(number: number): string {
  return `${String(number).padStart(8, "0")}.jws`;
}

/** Returns the number in a segment's file name; undefined for any other file. */
export function segmentNumber(name: string): number | undefined {
  return NAME.test(name) ? Number(name.slice(0, 8)) : undefined;
}

/** Returns the numbers of the segments in a directory, in order. */
export function listSegments(directory: string): readonly number[] {
  return readdirSync(directory)
    .flatMap((name) => segmentNumber(name) ?? [])
    .sort((left, right) => left - right);
}

/** Returns the segments of a directory, none if it does not exist. */
export function segmentsIn(directory: string): readonly number[] {
  try {
    return listSegments(directory);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** Yields the records of a segment from an offset on, in order. */
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
  // An unterminated rest too long for a partial record is reported like any invalid line.
  const rest = lines.rest();
  if (rest.length > MAX_LINE) yield recordOf(rest, offset);
}

/** Returns the record of a line. */
export function recordOf(line: Buffer, offset: number): StoredRecord {
  const jws = line.toString("latin1");
  return { jws, auditId: hash("sha256", jws), offset, length: jws.length };
}

/** The segment being written. */
export class ActiveSegment {
  readonly number: number;
  /** Undefined once closed, since the system then reuses the descriptor. */
  #descriptor: number | undefined;
  #size: number;
  /** The octets of a partial last line that were cut off. */
  readonly cutOctets: number;
  readonly #disk: JournalDisk;
  /** True while the rest of a failed write remains, so that nothing may be appended. */
  #isTorn = false;
  #synced: Promise<void> = Promise.resolve();
  #hasFailedSync = false;
  #isClosed = false;

  /** Opens or creates the segment, and cuts off a partial last line. */
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

  /** Appends every record or none, a line each and packed ones last; throws if it cannot. */
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

  /** Throws while the disk accepts nothing; leaves no trace. */
  probe(): void {
    this.#isTorn = true;
    try {
      this.#write(PROBE);
    } finally {
      this.#cut();
    }
  }

  /** True once a sync has failed; a later successful one proves nothing about the disk. */
  get hasFailedSync(): boolean {
    return this.#hasFailedSync;
  }

  /**
   * Resolves once appended records are on the disk; after a failure, every call rejects with it. After `close`, the
   * last sync's result is returned.
   */
  sync(isAlone = false): Promise<void> {
    if (this.#isClosed) return this.#synced;
    this.#synced = this.#synced.then(() => this.#disk.sync(this.#file, isAlone));
    this.#synced.catch(() => {
      this.#hasFailedSync = true;
    });
    return this.#synced;
  }

  /** Writes, syncs and removes a probe; throws while the disk fails. */
  async probeSync(): Promise<void> {
    this.#isTorn = true;
    try {
      this.#write(PROBE);
      await this.sync();
    } finally {
      this.#cut();
    }
  }

  /** Removes what was appended beyond a size. */
  takeBack(size: number): void {
    this.#size = size;
    this.#isTorn = true;
    this.#cut();
  }

  /** Closes the segment after a running sync, once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#synced.catch(() => undefined);
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Writes the lines and returns their length in octets. */
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
