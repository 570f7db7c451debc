/**
 * The index of a finished segment: a hash table in a file, keyed by Audit-ID, which is a hash itself. Building it
 * needs no sorting, and a lookup is a single read. A table for a segment of another size, or a truncated one, is
 * ignored.
 */
import { hash } from "node:crypto";
import { type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { replaceDerivedFile } from "../../base/state-files.ts";
import { codeOf } from "../../base/thrown.ts";
import type { RecordPlace } from "./journal.ts";
import { openIfThere } from "./journal-disk.ts";
import { type RecordPlaces, viewOf } from "./record-places.ts";
import { type Extent, segmentName } from "./segment.ts";

/** A prefix that identifies an Audit-ID; offset and length follow in 4 octets each. */
const ID_OCTETS = 16;
const ENTRY_OCTETS = ID_OCTETS + 4 + 4;
/** The size of the segment in 8 octets, and the number of slots in 4. */
const HEAD_OCTETS = 8 + 4;
/** The load factor of a table. */
const LOAD = 0.7;
/** Entries read at a time. */
const WINDOW = 64;
/** Entries written before the event loop gets a turn. */
const STRIDE = 2_000;

/** Returns the name of a segment's index file. */
export function indexName(number: number): string {
  return segmentName(number).replace(".jws", ".idx");
}

/** The largest number that fits an entry. */
const MAX_NUMBER = 2 ** 32 - 1;

/**
 * Memory reused between indexes. At full load several segments a second are finished, and fresh memory for each made
 * the garbage collector scan the whole heap every 400 ms: a tenth of a record's cost.
 */
let spare: Buffer = Buffer.alloc(0);
const MAX_SPARE = 4 * 1024 * 1024;

/** Writes the index of a segment atomically. */
export async function writeIndex(
  directory: string,
  number: number,
  records: RecordPlaces,
): Promise<void> {
  const last = records.at(-1);
  const size = last === undefined ? 0 : last.offset + last.length + 1;
  if (size > MAX_NUMBER) throw new RangeError(`${segmentName(number)} is too long for an index`);
  const capacity = Math.max(1, Math.ceil(records.length / LOAD));
  const octets = HEAD_OCTETS + capacity * ENTRY_OCTETS;
  const memory = spare.length < octets ? Buffer.alloc(octets) : spare.fill(0, 0, octets);
  spare = Buffer.alloc(0);
  const table = viewOf(memory);
  table.setBigUint64(0, BigInt(size));
  table.setUint32(8, capacity);
  for (let index = 0; index < records.length; index += 1) {
    if (index % STRIDE === STRIDE - 1) await nextTurn();
    // Works on octets: with hex strings and objects, the table took most of the time of unsigned records.
    let slot = slotOf(records.beginningOf(index), capacity);
    while (!isFree(table, HEAD_OCTETS + slot * ENTRY_OCTETS)) slot = (slot + 1) % capacity;
    records.copyTo(table, HEAD_OCTETS + slot * ENTRY_OCTETS, index, ID_OCTETS);
  }
  await replaceDerivedFile(join(directory, indexName(number)), memory.subarray(0, octets));
  if (memory.length <= MAX_SPARE) spare = memory;
}

/** Returns a record's place in a finished segment; undefined if it is not there. */
export async function findInIndex(
  directory: string,
  number: number,
  auditId: string,
  segmentDirectory: string = directory,
): Promise<Extent | "no-index" | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(join(directory, indexName(number)), "r");
    const { size: segmentSize } = await stat(join(segmentDirectory, segmentName(number)));
    const capacity = await readCapacity(file, segmentSize);
    return capacity === undefined ? "no-index" : await findInTable(file, capacity, auditId);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "no-index";
    throw error;
  } finally {
    await file?.close();
  }
}

/** Returns the number of slots; undefined if the table is for another segment, or truncated. */
async function readCapacity(file: FileHandle, segmentSize: number): Promise<number | undefined> {
  const { size } = await file.stat();
  const head = Buffer.alloc(HEAD_OCTETS);
  await file.read(head, 0, HEAD_OCTETS, 0);
  const capacity = head.readUInt32BE(8);
  const isWhole = capacity > 0 && size === HEAD_OCTETS + capacity * ENTRY_OCTETS;
  return isWhole && head.readBigUInt64BE() === BigInt(segmentSize) ? capacity : undefined;
}

async function findInTable(
  file: FileHandle,
  capacity: number,
  auditId: string,
): Promise<Extent | undefined> {
  const wanted = Buffer.from(auditId, "hex").subarray(0, ID_OCTETS);
  if (wanted.length < ID_OCTETS) return undefined;
  const window = Buffer.alloc(WINDOW * ENTRY_OCTETS);
  let slot = slotOf(wanted.readUInt32BE(), capacity);
  for (let seen = 0; seen < capacity; ) {
    const count = Math.min(WINDOW, capacity - slot);
    await file.read(window, 0, count * ENTRY_OCTETS, HEAD_OCTETS + slot * ENTRY_OCTETS);
    const found = findInWindow(window, count, wanted);
    if (found !== undefined) return found === "free" ? undefined : found;
    seen += count;
    slot = (slot + count) % capacity;
  }
  return undefined;
}

/** Maps the first four octets of an Audit-ID to a slot. */
function slotOf(beginning: number, capacity: number): number {
  return Math.floor((beginning * capacity) / 2 ** 32);
}

/** A length of 0 marks a free slot. */
function isFree(table: DataView, at: number): boolean {
  return table.getUint32(at + ID_OCTETS + 4) === 0;
}

function findInWindow(window: Buffer, count: number, wanted: Buffer): Extent | "free" | undefined {
  const table = viewOf(window);
  for (let at = 0; at < count * ENTRY_OCTETS; at += ENTRY_OCTETS) {
    if (isFree(table, at)) return "free";
    if (!window.subarray(at, at + ID_OCTETS).equals(wanted)) continue;
    const offset = window.readUInt32BE(at + ID_OCTETS);
    return { offset, length: window.readUInt32BE(at + ID_OCTETS + 4) };
  }
  return undefined;
}

/** Reads one record; undefined if it was altered, or its segment removed meanwhile. */
export async function readRecord(
  directory: string,
  { segment, offset, length }: RecordPlace,
  auditId: string,
): Promise<string | undefined> {
  const file = await openIfThere(join(directory, segmentName(segment)));
  if (file === undefined) return undefined;
  try {
    const octets = Buffer.alloc(length);
    await file.read(octets, 0, length, offset);
    const jws = octets.toString("latin1");
    return hash("sha256", jws) === auditId ? jws : undefined;
  } finally {
    await file.close();
  }
}
