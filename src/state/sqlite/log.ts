/**
 * Judges the write-ahead log of a sqlite store before SQLite reads it: at the first frame that does
 * not hold, SQLite drops all that follows and says nothing. What a crash tore off at the end was
 * never acknowledged; a commit with another one behind it had been synced.
 * SQLite "Database File Format", 4 "The Write-Ahead Log"
 */

import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { readAt } from "../../base/bounded-file.ts";
import { codeOf } from "../../base/thrown.ts";

/** The frame at which acknowledged commits stop to hold. */
export interface LogDamage {
  /** Where it begins, in octets. */
  readonly offset: number;
}

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Of every database that a store makes. */
const PAGE_SIZE = 4096;
/** The last bit says in which order checksums take octets. */
const MAGIC = 0x377f0682;
/** A log is read so many octets at a time, or one frame. */
const CHUNK = 1024 * 1024;

/** The checksum of what came before; each frame goes on with it. */
type Checksum = readonly [number, number];

interface Frame {
  readonly offset: number;
  /** True for the last of a commit. */
  readonly isCommit: boolean;
  /** True when its own octets and the checksum of the frame before lead to its checksum. */
  readonly follows: boolean;
}

/** The log of a database. */
export function logOf(path: string): string {
  return `${path}-wal`;
}

/** Finds where a log lost commits; undefined also while another process begins it anew. */
export function findLogDamage(path: string): LogDamage | undefined {
  const file = openIfThere(logOf(path));
  if (file === undefined) return undefined;
  try {
    const header = readAt(file, 0, HEADER_BYTES);
    if (!fstatSync(file).isFile() || header.length < HEADER_BYTES) return undefined;
    const isWhole = isHeader(header);
    const pageSize = isWhole ? header.readUInt32BE(8) : PAGE_SIZE;
    const damage = judge({ file, header, isWhole, pageSize });
    return damage && readAt(file, 0, HEADER_BYTES).equals(header) ? damage : undefined;
  } finally {
    closeSync(file);
  }
}

/** The header of a log, another one once the log was begun anew; empty where there is no log. */
export function readLogHeader(path: string): Buffer {
  const file = openIfThere(logOf(path));
  if (file === undefined) return Buffer.alloc(0);
  try {
    return readAt(file, 0, HEADER_BYTES);
  } finally {
    closeSync(file);
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

interface Log {
  readonly file: number;
  readonly header: Buffer;
  /** True where the header holds, and says the salts that its frames have. */
  readonly isWhole: boolean;
  readonly pageSize: number;
}

/** A commit that another one follows was synced before that one began. */
function judge(log: Log): LogDamage | undefined {
  let bad: number | undefined = log.isWhole ? undefined : 0;
  let before: Frame | undefined;
  for (const frame of readFrames(log)) {
    if (bad === undefined && !frame.follows) bad = frame.offset;
    const isBehind = bad !== undefined && before !== undefined && before.offset >= bad;
    if (isBehind && before?.isCommit === true && frame.follows) return { offset: bad ?? 0 };
    before = frame;
  }
  return undefined;
}

/** Every frame; behind those of this header stand those of before the log was begun anew. */
function* readFrames({ file, header, isWhole, pageSize }: Log): Generator<Frame> {
  const size = FRAME_HEADER_BYTES + pageSize;
  const isBigEndian = (header.readUInt32BE(0) & 1) === 1;
  const length = Math.floor(CHUNK / size) * size;
  let salts = header.subarray(16, 24);
  let checksum = checksumAt(header, 24);
  for (let at = HEADER_BYTES; ; at += length) {
    const chunk = readAt(file, at, length);
    for (let start = 0; start + size <= chunk.length; start += size) {
      const frame = chunk.subarray(start, start + size);
      const own = frame.subarray(8, 16);
      // The first frame stands in for a header that does not hold.
      if (!isWhole && at + start === HEADER_BYTES) salts = Buffer.from(own);
      const named = sum(frame.subarray(0, 8), isBigEndian, checksum);
      const summed = sum(frame.subarray(FRAME_HEADER_BYTES), isBigEndian, named);
      const isOurs = own.equals(salts);
      checksum = checksumAt(frame, 16);
      const follows = isOurs && summed[0] === checksum[0] && summed[1] === checksum[1];
      yield { offset: at + start, isCommit: isOurs && frame.readUInt32BE(4) !== 0, follows };
    }
    if (chunk.length < length) return;
  }
}

function isHeader(header: Buffer): boolean {
  const magic = header.readUInt32BE(0);
  const [first, second] = sum(header.subarray(0, 24), (magic & 1) === 1, [0, 0]);
  const [expected, other] = checksumAt(header, 24);
  return (magic & ~1) === MAGIC && first === expected && second === other;
}

function checksumAt(octets: Buffer, at: number): Checksum {
  return [octets.readUInt32BE(at), octets.readUInt32BE(at + 4)];
}

/** The checksum of some octets, eight at a time, behind what it was before them. */
function sum(octets: Buffer, isBigEndian: boolean, [first, second]: Checksum): Checksum {
  const view = new DataView(octets.buffer, octets.byteOffset, octets.length);
  let [one, two] = [first, second];
  for (let at = 0; at < octets.length; at += 8) {
    one = (one + view.getUint32(at, !isBigEndian) + two) >>> 0;
    two = (two + view.getUint32(at + 4, !isBigEndian) + one) >>> 0;
  }
  return [one, two];
}
