/**
 * One segment of the journal: a file of compact JWS, one a line, that only grows. What a crash left
 * of a last line was never acknowledged, and is cut off.   AGTP-IDENTIFIERS "Audit Log"
 */
import { hash } from "node:crypto";
import {
  closeSync,
  createReadStream,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { JournalRecord } from "./journal.ts";

/** Where a line stands in its segment, in octets; the length is without the line feed. */
export interface Extent {
  readonly offset: number;
  readonly length: number;
}

/** A record that was read, and where. */
export interface StoredRecord extends JournalRecord, Extent {}

const NAME = /^\d{8}\.jws$/;
const LINE_FEED = 0x0a;
/** No line that this program writes is longer: its texts come from heads that are bounded. */
const MAX_LINE = 1024 * 1024;
const CHUNK = 64 * 1024;

/** The file name of a segment; they are numbered from 1. */
export function segmentName(number: number): string {
  return `${String(number).padStart(8, "0")}.jws`;
}

/** The number in a segment's file name; undefined for any other file. */
export function segmentNumber(name: string): number | undefined {
  return NAME.test(name) ? Number(name.slice(0, 8)) : undefined;
}

/** The records of a segment from an offset on, in order. */
export async function* readSegment(
  directory: string,
  number: number,
  from = 0,
): AsyncGenerator<StoredRecord> {
  let rest: Buffer = Buffer.alloc(0);
  let offset = from;
  const stream = createReadStream(join(directory, segmentName(number)), {
    start: from,
    highWaterMark: CHUNK,
  });
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const octets = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = octets.indexOf(LINE_FEED); end !== -1; end = octets.indexOf(LINE_FEED, start)) {
      const jws = octets.toString("latin1", start, end);
      yield { jws, auditId: hash("sha256", jws), offset: offset + start, length: end - start };
      start = end + 1;
    }
    rest = octets.subarray(start);
    offset += start;
    if (rest.length > MAX_LINE) throw new Error(`${segmentName(number)} holds no journal lines`);
  }
}

/** The segment that is being written. */
export class ActiveSegment {
  readonly number: number;
  readonly #file: number;
  #size: number;
  /** What a failed write left is still there, and nothing may follow it. */
  #isTorn = false;

  /** Opens the segment, or begins it; cuts a torn last line off. */
  constructor(directory: string, number: number) {
    this.number = number;
    this.#file = openSync(join(directory, segmentName(number)), "a+", 0o600);
    const { size } = fstatSync(this.#file);
    this.#size = endOfLastLine(this.#file, size);
    if (this.#size < size) ftruncateSync(this.#file, this.#size);
  }

  get size(): number {
    return this.#size;
  }

  /** Appends lines, whole or not at all; throws when they cannot be written. */
  append(lines: string): void {
    if (this.#isTorn) this.#cut();
    try {
      let written = writeSync(this.#file, lines, null, "latin1");
      while (written < lines.length) {
        written += writeSync(this.#file, lines.slice(written), null, "latin1");
      }
    } catch (error) {
      this.#isTorn = true;
      this.#cut();
      throw error;
    }
    this.#size += lines.length;
  }

  close(): void {
    closeSync(this.#file);
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
