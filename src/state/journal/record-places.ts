/**
 * Where the records of one segment stand. One is added with every request, so they lie in flat memory
 * that the garbage collector does not have to look through; they are seldom asked for.
 */
import type { Extent } from "./segment.ts";

/** A record and its place. */
interface IndexedRecord extends Extent {
  readonly auditId: string;
}

const ID_OCTETS = 32;
const FIRST_CAPACITY = 1024;

/** The places of a segment's records, in its order. */
export class RecordPlaces {
  #ids = Buffer.alloc(FIRST_CAPACITY * ID_OCTETS);
  /** Offset and length, in turn. */
  #extents = new Float64Array(FIRST_CAPACITY * 2);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(auditId: string, offset: number, length: number): void {
    const index = this.#length;
    if (index * 2 === this.#extents.length) this.#grow();
    this.#ids.write(auditId, index * ID_OCTETS, "hex");
    this.#extents[index * 2] = offset;
    this.#extents[index * 2 + 1] = length;
    this.#length = index + 1;
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
    return this.#ids.readUInt32BE(index * ID_OCTETS);
  }

  /** Writes an entry to a table: so many octets of the Audit-ID, then offset and length in 4 octets each. */
  copyTo(table: Buffer, at: number, index: number, idOctets: number): void {
    const start = index * ID_OCTETS;
    for (let octet = 0; octet < idOctets; octet += 1) {
      table[at + octet] = this.#ids[start + octet] ?? 0;
    }
    table.writeUInt32BE(this.#extents[index * 2] ?? 0, at + idOctets);
    table.writeUInt32BE(this.#extents[index * 2 + 1] ?? 0, at + idOctets + 4);
  }

  #extentAt(index: number): Extent {
    return {
      offset: this.#extents[index * 2] ?? 0,
      length: this.#extents[index * 2 + 1] ?? 0,
    };
  }

  #grow(): void {
    this.#ids = Buffer.concat([this.#ids, Buffer.alloc(this.#ids.length)]);
    const extents = new Float64Array(this.#extents.length * 2);
    extents.set(this.#extents);
    this.#extents = extents;
  }
}
