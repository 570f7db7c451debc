/**
 * The index of a finished segment: a table in a file, in which an Audit-ID, being a hash, says itself
 * where its record is looked up. Making one takes no sorting, and a look-up reads once. A table that
 * is of a segment of another size, or is not whole, is no index.
 */
import { type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { replaceDerivedFile } from "../../base/state-files.ts";
import { codeOf } from "../../base/thrown.ts";
import { type Extent, RecordPlaces, readSegment, segmentName } from "./segment.ts";

/** The beginning of an Audit-ID tells it from any other; then offset and length, 4 octets each. */
const ID_OCTETS = 16;
const ENTRY_OCTETS = ID_OCTETS + 4 + 4;
/** The size of the segment in 8 octets, and how many entries the table has in 4. */
const HEAD_OCTETS = 8 + 4;
/** How much of a table is taken. */
const LOAD = 0.7;
/** Entries read at a time. */
const WINDOW = 64;
/** Entries written before the loop gets a turn. */
const STRIDE = 2_000;

/** The index file of a segment. */
export function indexName(number: number): string {
  return segmentName(number).replace(".jws", ".idx");
}

/** Writes the index of a segment in one piece. */
export async function writeIndex(
  directory: string,
  number: number,
  records: RecordPlaces,
): Promise<void> {
  const capacity = Math.max(1, Math.ceil(records.length / LOAD));
  const table = Buffer.alloc(capacity * ENTRY_OCTETS);
  for (let index = 0; index < records.length; index += 1) {
    if (index % STRIDE === STRIDE - 1) await nextTurn();
    // Octets all the way: as hex and objects, the table took most of the time of unsigned records.
    let slot = slotOf(records.beginningOf(index), capacity);
    while (!isFree(table, slot)) slot = (slot + 1) % capacity;
    records.copyTo(table, slot * ENTRY_OCTETS, index, ID_OCTETS);
  }
  const last = records.at(-1);
  const head = Buffer.alloc(HEAD_OCTETS);
  head.writeBigUInt64BE(BigInt(last === undefined ? 0 : last.offset + last.length + 1));
  head.writeUInt32BE(capacity, 8);
  const path = join(directory, indexName(number));
  await replaceDerivedFile(path, Buffer.concat([head, table]));
}

/** Reads the places of a finished segment's records, from which its index is made. */
export async function readRecords(directory: string, number: number): Promise<RecordPlaces> {
  const records = new RecordPlaces();
  for await (const { auditId, offset, length } of readSegment(directory, number)) {
    records.add(auditId, offset, length);
  }
  return records;
}

/** Where a finished segment has a record; undefined when it has not. */
export async function findInIndex(
  directory: string,
  number: number,
  auditId: string,
): Promise<Extent | "no-index" | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(join(directory, indexName(number)), "r");
    const { size: segmentSize } = await stat(join(directory, segmentName(number)));
    const capacity = await readCapacity(file, segmentSize);
    return capacity === undefined ? "no-index" : await findInTable(file, capacity, auditId);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "no-index";
    throw error;
  } finally {
    await file?.close();
  }
}

/** How many entries the table has; undefined when it is of another segment, or cut short. */
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

/** By the first four octets of an Audit-ID. */
function slotOf(beginning: number, capacity: number): number {
  return Math.floor((beginning * capacity) / 2 ** 32);
}

/** No record is without a length. */
function isFree(table: Buffer, slot: number): boolean {
  return table.readUInt32BE(slot * ENTRY_OCTETS + ID_OCTETS + 4) === 0;
}

function findInWindow(window: Buffer, count: number, wanted: Buffer): Extent | "free" | undefined {
  for (let slot = 0; slot < count; slot += 1) {
    if (isFree(window, slot)) return "free";
    const at = slot * ENTRY_OCTETS;
    if (!window.subarray(at, at + ID_OCTETS).equals(wanted)) continue;
    const offset = window.readUInt32BE(at + ID_OCTETS);
    return { offset, length: window.readUInt32BE(at + ID_OCTETS + 4) };
  }
  return undefined;
}

/** One record out of a segment. */
export async function readExtent(
  directory: string,
  number: number,
  { offset, length }: Extent,
): Promise<string> {
  const file = await open(join(directory, segmentName(number)), "r");
  try {
    const octets = Buffer.alloc(length);
    await file.read(octets, 0, length, offset);
    return octets.toString("latin1");
  } finally {
    await file.close();
  }
}
