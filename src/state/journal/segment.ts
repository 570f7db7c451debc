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
import { ID_OCTETS, type PackedRecords } from "./packed-records.ts";

/** Where a line stands in its segment, in octets; the length is without the line feed. */
export interface Extent {
  readonly offset: number;
  readonly length: number;
}

/** A record that was read, and where. */
export interface StoredRecord extends JournalRecord, Extent {
  readonly length: number;
}

/** A segment, and the directory that it is in. */
export interface SegmentPlace {
  readonly directory: string;
  readonly number: number;
}

const NAME = /^\d{8}\.jws$/;
const LINE_FEED = 0x0a;
/** No line that this program writes is longer: its texts come from heads that are bounded. */
const MAX_LINE = 1024 * 1024;
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
  const lines = new OctetLines(MAX_LINE, () => new Error(`${name} holds no journal lines`));
  let offset = from;
  const stream = createReadStream(join(directory, name), { start: from, highWaterMark: CHUNK });
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    for (const line of lines.take(chunk)) {
      const jws = line.toString("latin1");
      const { length } = jws;
      yield { jws, auditId: hash("sha256", jws), offset, length };
      offset += length + 1;
    }
  }
}

/** The segment that is being written. */
export class ActiveSegment {
  readonly number: number;
  readonly #file: number;
  #size: number;
  /** Octets of a torn last line that were cut off. */
  readonly cutOctets: number;
  readonly #disk: JournalDisk;
  /** True while the rest of a failed write is still there, which nothing may follow. */
  #isTorn = false;
  /** The last sync. */
  #synced: Promise<void> = Promise.resolve();
  #hasFailedSync = false;
  #isClosed = false;

  /** Opens the segment, or begins it; cuts a torn last line off. */
  constructor(directory: string, number: number, disk: JournalDisk = DISK) {
    this.number = number;
    this.#disk = disk;
    this.#file = openStateFile(join(directory, segmentName(number)), APPENDING);
    const { size } = fstatSync(this.#file);
    this.#size = endOfLastLine(this.#file, size);
    this.cutOctets = size - this.#size;
    if (this.cutOctets > 0) ftruncateSync(this.#file, this.#size);
  }

  get size(): number {
    return this.#size;
  }

  /** Appends records, a line each and packed ones last, all of them or none; throws when it cannot. */
  append(records: readonly JournalRecord[], packed: readonly PackedRecords[] = []): void {
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
  sync(): Promise<void> {
    if (this.#isClosed) return this.#synced;
    this.#synced = this.#synced.then(() => this.#disk.sync(this.#file));
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

  /** Closes the segment behind a sync that still runs. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#synced.catch(() => undefined);
    closeSync(this.#file);
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

/** A record and its place. */
interface IndexedRecord extends Extent {
  readonly auditId: string;
}

const FIRST_CAPACITY = 1024;

/**
 * The places of a segment's records, in its order. One is added with every request, so they lie in flat memory
 * that the garbage collector does not have to look through; they are seldom asked for.
 */
export class RecordPlaces {
  #ids = Buffer.alloc(FIRST_CAPACITY * ID_OCTETS);
  #words = viewOf(this.#ids);
  /** Offset and length, in turn. */
  #extents = new Float64Array(FIRST_CAPACITY * 2);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Adds records whose lines follow each other; answers where the last of them ends. */
  add(records: readonly JournalRecord[], from: number): number {
    const first = this.#length;
    const length = first + records.length;
    while (length * 2 > this.#extents.length) this.#grow();
    let offset = from;
    let at = first * 2;
    let ids = "";
    for (const { auditId, jws } of records) {
      ids += auditId;
      this.#extents[at] = offset;
      this.#extents[at + 1] = jws.length;
      at += 2;
      offset += jws.length + 1;
    }
    this.#ids.write(ids, first * ID_OCTETS, "hex");
    this.#length = length;
    return offset;
  }

  /** Adds records whose lines begin at an offset. */
  addPacked(records: PackedRecords, offset: number): void {
    const length = this.#length + records.count;
    while (length * 2 > this.#extents.length) this.#grow();
    records.copyPlaces(this.#ids, this.#extents, { first: this.#length, offset });
    this.#length = length;
  }

  /** Forgets all of them, and keeps the memory: making it anew for each segment called the collector. */
  clear(): void {
    this.#length = 0;
  }

  /** Forgets the records from an offset on. */
  truncate(offset: number): void {
    while (this.#length > 0 && this.#extentAt(this.#length - 1).offset >= offset) this.#length -= 1;
  }

  /** Counts from the end when negative. */
  at(index: number): IndexedRecord | undefined {
    const found = index < 0 ? index + this.#length : index;
    if (found < 0 || found >= this.#length) return undefined;
    const start = found * ID_OCTETS;
    const auditId = this.#ids.toString("hex", start, start + ID_OCTETS);
    return { auditId, ...this.#extentAt(found) };
  }

  find(auditId: string): Extent | undefined {
    const wanted = Buffer.from(auditId, "hex");
    if (wanted.length !== ID_OCTETS) return undefined;
    const ids = this.#ids.subarray(0, this.#length * ID_OCTETS);
    for (let at = ids.indexOf(wanted); at !== -1; at = ids.indexOf(wanted, at + 1)) {
      if (at % ID_OCTETS === 0) return this.#extentAt(at / ID_OCTETS);
    }
    return undefined;
  }

  /** The first four octets of an Audit-ID. */
  beginningOf(index: number): number {
    return this.#words.getUint32(index * ID_OCTETS);
  }

  /** Writes an entry to a table: so many words of the Audit-ID, then offset and length in 4 octets each. */
  copyTo(table: DataView, at: number, index: number, idOctets: number): void {
    const start = index * ID_OCTETS;
    for (let octet = 0; octet < idOctets; octet += 4) {
      table.setUint32(at + octet, this.#words.getUint32(start + octet));
    }
    table.setUint32(at + idOctets, this.#extents[index * 2] ?? 0);
    table.setUint32(at + idOctets + 4, this.#extents[index * 2 + 1] ?? 0);
  }

  #extentAt(index: number): Extent {
    return { offset: this.#extents[index * 2] ?? 0, length: this.#extents[index * 2 + 1] ?? 0 };
  }

  #grow(): void {
    this.#ids = Buffer.concat([this.#ids, Buffer.alloc(this.#ids.length)]);
    this.#words = viewOf(this.#ids);
    const extents = new Float64Array(this.#extents.length * 2);
    extents.set(this.#extents);
    this.#extents = extents;
  }
}

/** The numbers in some octets. */
export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
