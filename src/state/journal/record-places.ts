/**
 * The places of a segment's records, in order. One is added with every request, so they are stored in flat memory
 * that the garbage collector need not scan; lookups are rare.
 */
import type { JournalRecord } from "./journal.ts";
import { ID_OCTETS, type PackedRecords } from "./packed-records.ts";
import { type Extent, readSegment } from "./segment.ts";

interface IndexedRecord extends Extent {
  readonly auditId: string;
}

const FIRST_CAPACITY = 1024;

export class RecordPlaces {
  #ids = Buffer.alloc(FIRST_CAPACITY * ID_OCTETS);
  #words = viewOf(this.#ids);
  /** Offset and length alternately. */
  #extents = new Float64Array(FIRST_CAPACITY * 2);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Adds consecutive records; returns the end of the last one. */
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

  /** Adds packed records whose lines begin at an offset. */
  addPacked(records: PackedRecords, offset: number): void {
    const length = this.#length + records.count;
    while (length * 2 > this.#extents.length) this.#grow();
    records.copyPlaces(this.#ids, this.#extents, { first: this.#length, offset });
    this.#length = length;
  }

  /** Removes every entry but keeps the memory: allocating it for each segment triggered the garbage collector. */
  clear(): void {
    this.#length = 0;
  }

  /** Removes the records from an offset on. */
  truncate(offset: number): void {
    while (this.#length > 0 && this.#extentAt(this.#length - 1).offset >= offset) this.#length -= 1;
  }

  /** Returns an entry; a negative index counts from the end. */
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

  /** Returns the first four octets of an Audit-ID. */
  beginningOf(index: number): number {
    return this.#words.getUint32(index * ID_OCTETS);
  }

  /** Writes an entry to a table: the first octets of the Audit-ID, then offset and length in 4 octets each. */
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

/** Reads the places of a segment's records. */
export async function readPlaces(directory: string, number: number): Promise<RecordPlaces> {
  const records = new RecordPlaces();
  for await (const record of readSegment(directory, number)) records.add([record], record.offset);
  return records;
}

/** Returns a view on some octets. */
export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
