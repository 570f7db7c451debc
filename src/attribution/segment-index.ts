/**
 * The index of a finished segment: its Audit-IDs in order, each with the place of its record. An
 * Audit-ID is a hash, so the place of one in the index can be guessed, and a look-up reads once or
 * twice. An index that is missing or of another segment is made anew.
 */
import { open, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Extent, readSegment, segmentName } from "./segment.ts";

const ID_OCTETS = 32;
const ENTRY_OCTETS = ID_OCTETS + 8 + 4;
/** Entries read at a time, around where one should be. */
const WINDOW = 64;

/** The index file of a segment. */
export function indexName(number: number): string {
  return segmentName(number).replace(".jws", ".idx");
}

/** Writes the index of a segment in one piece. */
export async function writeIndex(
  directory: string,
  number: number,
  entries: ReadonlyMap<string, Extent>,
): Promise<void> {
  const sorted = [...entries].sort(([left], [right]) => (left < right ? -1 : 1));
  const octets = Buffer.alloc(sorted.length * ENTRY_OCTETS);
  for (const [index, [auditId, { offset, length }]] of sorted.entries()) {
    const at = index * ENTRY_OCTETS;
    octets.write(auditId, at, "hex");
    octets.writeBigUInt64BE(BigInt(offset), at + ID_OCTETS);
    octets.writeUInt32BE(length, at + ID_OCTETS + 8);
  }
  const path = join(directory, indexName(number));
  await writeFile(`${path}.tmp`, octets, { mode: 0o600 });
  await rename(`${path}.tmp`, path);
}

/** Makes the index of a finished segment from the segment itself. */
export async function rebuildIndex(directory: string, number: number): Promise<void> {
  const entries = new Map<string, Extent>();
  for await (const { auditId, offset, length } of readSegment(directory, number)) {
    entries.set(auditId, { offset, length });
  }
  await writeIndex(directory, number, entries);
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
    const count = Math.floor(size / ENTRY_OCTETS);
    const wanted = Buffer.from(auditId, "hex");
    const window = Buffer.alloc(WINDOW * ENTRY_OCTETS);
    let low = 0;
    let high = count;
    // A hash is as likely to begin with one number as with another.
    let guess = Math.floor((count * wanted.readUInt32BE(0)) / 2 ** 32) - WINDOW / 2;
    while (low < high) {
      const start = Math.max(low, Math.min(guess, high - WINDOW));
      const length = Math.min(WINDOW, high - start) * ENTRY_OCTETS;
      const { bytesRead } = await file.read(window, 0, length, start * ENTRY_OCTETS);
      const entries = window.subarray(0, bytesRead - (bytesRead % ENTRY_OCTETS));
      const found = findInWindow(entries, wanted);
      if (typeof found === "object") return found;
      if (found === "absent" || entries.length === 0) return undefined;
      if (found === "before") high = start;
      else low = start + entries.length / ENTRY_OCTETS;
      guess = Math.floor((low + high - WINDOW) / 2);
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

function findInWindow(entries: Buffer, wanted: Buffer): Extent | "before" | "after" | "absent" {
  const idAt = (at: number): Buffer => entries.subarray(at, at + ID_OCTETS);
  if (entries.length === 0) return "absent";
  if (wanted.compare(idAt(0)) < 0) return "before";
  if (wanted.compare(idAt(entries.length - ENTRY_OCTETS)) > 0) return "after";
  for (let at = 0; at < entries.length; at += ENTRY_OCTETS) {
    if (!idAt(at).equals(wanted)) continue;
    const offset = Number(entries.readBigUInt64BE(at + ID_OCTETS));
    return { offset, length: entries.readUInt32BE(at + ID_OCTETS + 8) };
  }
  return "absent";
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

/** Reads a small file of this directory; undefined when there is none. */
export async function readSmall(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch {
    return undefined;
  }
}
