/**
 * The index of a finished segment: a table in a file, in which an Audit-ID, being a hash, says itself
 * where its record is looked up. Making one takes no sorting, and a look-up reads once. An index that
 * is missing is made anew.
 */
import { open, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Extent, readSegment, segmentName } from "./segment.ts";

/** A record and its place, in the order of the segment. */
export interface IndexedRecord extends Extent {
  readonly auditId: string;
}

/** The beginning of an Audit-ID tells it from any other; then offset and length, 4 octets each. */
const ID_OCTETS = 16;
const ENTRY_OCTETS = ID_OCTETS + 4 + 4;
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
  records: readonly IndexedRecord[],
): Promise<void> {
  const capacity = Math.max(1, Math.ceil(records.length / LOAD));
  const table = Buffer.alloc(capacity * ENTRY_OCTETS);
  for (const [index, record] of records.entries()) {
    if (index % STRIDE === STRIDE - 1) await nextTurn();
    let slot = slotOf(record.auditId, capacity);
    while (!isFree(table, slot)) slot = (slot + 1) % capacity;
    const at = slot * ENTRY_OCTETS;
    table.write(record.auditId.slice(0, ID_OCTETS * 2), at, "hex");
    table.writeUInt32BE(record.offset, at + ID_OCTETS);
    table.writeUInt32BE(record.length, at + ID_OCTETS + 4);
  }
  const path = join(directory, indexName(number));
  await writeFile(`${path}.tmp`, table, { mode: 0o600 });
  await rename(`${path}.tmp`, path);
}

/** Makes the index of a finished segment from the segment itself. */
export async function rebuildIndex(directory: string, number: number): Promise<void> {
  const records: IndexedRecord[] = [];
  for await (const { auditId, offset, length } of readSegment(directory, number)) {
    records.push({ auditId, offset, length });
  }
  await writeIndex(directory, number, records);
}

/** Where a finished segment has a record; undefined when it has not. */
export async function findInIndex(
  directory: string,
  number: number,
  auditId: string,
): Promise<Extent | undefined> {
  const file = await openIndex(directory, number);
  try {
    const { size } = await file.stat();
    const capacity = Math.floor(size / ENTRY_OCTETS);
    if (capacity === 0) return undefined;
    const wanted = Buffer.from(auditId, "hex").subarray(0, ID_OCTETS);
    const window = Buffer.alloc(WINDOW * ENTRY_OCTETS);
    let slot = slotOf(auditId, capacity);
    for (let seen = 0; seen < capacity; ) {
      const count = Math.min(WINDOW, capacity - slot);
      await file.read(window, 0, count * ENTRY_OCTETS, slot * ENTRY_OCTETS);
      const found = findInWindow(window, count, wanted);
      if (found !== undefined) return found === "free" ? undefined : found;
      seen += count;
      slot = (slot + count) % capacity;
    }
    return undefined;
  } finally {
    await file.close();
  }
}

async function openIndex(directory: string, number: number) {
  const path = join(directory, indexName(number));
  try {
    return await open(path, "r");
  } catch {
    await rebuildIndex(directory, number);
    return open(path, "r");
  }
}

function slotOf(auditId: string, capacity: number): number {
  return Math.floor((Number.parseInt(auditId.slice(0, 8), 16) * capacity) / 2 ** 32);
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
