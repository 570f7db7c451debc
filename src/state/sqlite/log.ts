/**
 * Checks the write-ahead log of a sqlite store before SQLite reads it: at the first invalid frame SQLite silently
 * drops everything after it. A torn end after a crash was never acknowledged; a commit with another one after it had
 * been synced. SQLite "Database File Format", 4 "The Write-Ahead Log"
 */

import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { readAt } from "../../base/bounded-file.ts";
import { codeOf } from "../../base/thrown.ts";

/** The first invalid frame that precedes acknowledged commits. */
export interface LogDamage {
  /** The frame's offset in octets. */
  readonly offset: number;
}

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The page size of every database that a store creates. */
const PAGE_SIZE = 4096;
/** The last bit is the byte order of the checksums. */
const MAGIC = 0x377f0682;
/** Octets read at a time, or one frame if larger. */
const CHUNK = 1024 * 1024;

/** The cumulative checksum, which each frame continues. */
type Checksum = readonly [number, number];

interface Frame {
  readonly offset: number;
  /** True for the last frame of a commit. */
  readonly isCommit: boolean;
  /** True if the frame's content and the previous checksum yield its checksum. */
  readonly follows: boolean;
}

/** Returns the path of a database's log. */
export function logOf(path: string): string {
  return `${path}-wal`;
}

/** Finds the offset from which a log lost commits; undefined also while another process restarts it. */
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

/** Returns the header of a log, which changes when the log restarts; empty without a log. */
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
  /** True if the header is valid, and so has the salts of its frames. */
  readonly isWhole: boolean;
  readonly pageSize: number;
}

/** A commit followed by another was synced before that one began. */
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

/** Yields every frame; after those of this header come frames from before the log was restarted. */
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
      // The first frame substitutes for an invalid header.
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

/** Continues a checksum over some octets, eight at a time. */
function sum(octets: Buffer, isBigEndian: boolean, [first, second]: Checksum): Checksum {
  const view = new DataView(octets.buffer, octets.byteOffset, octets.length);
  let [one, two] = [first, second];
  for (let at = 0; at < octets.length; at += 8) {
    one = (one + view.getUint32(at, !isBigEndian) + two) >>> 0;
    two = (two + view.getUint32(at + 4, !isBigEndian) + one) >>> 0;
  }
  return [one, two];
}
