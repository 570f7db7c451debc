/**
 * The journal seam: where Attribution-Records are kept, in the order they were made, and found again
 * by their Audit-ID.   AGTP-IDENTIFIERS "Audit Log"
 */
import { recentlyUsed } from "../../base/recently-used.ts";
import type { PackedRecords } from "./packed-records.ts";

/** A signed record under its Audit-ID. */
export interface JournalRecord {
  readonly auditId: string;
  /** Compact serialization; printable ASCII. */
  readonly jws: string;
}

/** Where in a journal that is kept a record would be appended. */
export interface JournalPosition {
  readonly segment: number;
  readonly offset: number;
}

/** Tells which of two positions comes first. */
export function isBefore(left: JournalPosition, right: JournalPosition): boolean {
  return left.segment === right.segment ? left.offset < right.offset : left.segment < right.segment;
}

/** Where a record stands in a journal that is kept: its segment, and its octets there. */
export interface RecordPlace extends JournalPosition {
  /** Without the line feed. */
  readonly length: number;
}

/** Finds records by their Audit-IDs. */
export interface RecordReader {
  find(auditId: string): Promise<string | undefined>;
  /**
   * The newest record of an agent that was kept before this one, or of all without one: where a chain
   * has a gap, the record that it goes on with. Without this, nothing behind a gap is found.
   */
  before?(agentId: string, auditId: string | undefined): Promise<JournalRecord | undefined>;
}

export interface Journal {
  /**
   * Writes all of them or none, and throws when it cannot. Returns once a crash of the process cannot
   * lose them: where the first one stands, each other one behind the line feed of the one before.
   * Those that came as octets follow the others.
   */
  write(
    records: readonly JournalRecord[],
    packed?: readonly PackedRecords[],
  ): JournalPosition | undefined;
  /** Throws while nothing can be written. */
  probe(): void;
  /** Reads beside what is being written, and never holds it up. */
  find(auditId: string): Promise<string | undefined>;
  /** Finds many records of one chain, one behind the other; without this, `find` does. */
  openReader?(): RecordReader;
  close(): Promise<void>;
}

/** A journal that ends with the process. */
export interface MemoryJournal extends Journal {
  /** The records that it remembers, the oldest first. */
  records(): readonly string[];
}

const REMEMBERED_RECORDS = 10_000;

/** A journal that ends with the process, and forgets its oldest records. */
export function createMemoryJournal(maxRecords: number = REMEMBERED_RECORDS): MemoryJournal {
  const records = recentlyUsed<string>(maxRecords);
  return {
    write(batch, packed = []) {
      const all = [...batch, ...packed.flatMap((some) => some.all())];
      for (const { auditId, jws } of all) records.set(auditId, jws);
      return undefined;
    },
    probe: () => undefined,
    find: (auditId) => Promise.resolve(records.peek(auditId)),
    records: () => [...records.rvalues()].filter((jws) => jws !== undefined),
    close: () => Promise.resolve(),
  };
}
