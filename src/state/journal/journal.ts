/**
 * The journal interface: stores Attribution-Records in the order they were made, and finds them by Audit-ID.
 * AGTP-IDENTIFIERS "Audit Log"
 */
import { recentlyUsed } from "../../base/recently-used.ts";
import type { PackedRecords } from "./packed-records.ts";

/** A signed record with its Audit-ID. */
export interface JournalRecord {
  readonly auditId: string;
  /** Compact serialization; printable ASCII. */
  readonly jws: string;
}

/** A position in a stored journal, where a record begins or would be appended. */
export interface JournalPosition {
  readonly segment: number;
  readonly offset: number;
}

/** True if the left position comes first. */
export function isBefore(left: JournalPosition, right: JournalPosition): boolean {
  return left.segment === right.segment ? left.offset < right.offset : left.segment < right.segment;
}

/** A record's place in a stored journal. */
export interface RecordPlace extends JournalPosition {
  /** Without the line feed. */
  readonly length: number;
}

/** Finds records by their Audit-IDs. */
export interface RecordReader {
  find(auditId: string): Promise<string | undefined>;
  /**
   * Returns an agent's newest record stored before this one, or the newest of all if undefined: where a chain has a
   * gap, it continues there. Without this method, nothing behind a gap is found.
   */
  before?(agentId: string, auditId: string | undefined): Promise<JournalRecord | undefined>;
}

export interface Journal {
  /**
   * Writes every record or none, and throws if it cannot. On return a crash of the process cannot lose them. Returns
   * the place of the first; each other follows the previous one's line feed. Packed records follow the others.
   */
  write(
    records: readonly JournalRecord[],
    packed?: readonly PackedRecords[],
  ): JournalPosition | undefined;
  /** Throws while nothing can be written. */
  probe(): void;
  /** Works during writes, and never delays them. */
  find(auditId: string): Promise<string | undefined>;
  /** Returns a reader for many consecutive records of a chain; default: `find`. */
  openReader?(): RecordReader;
  close(): Promise<void>;
}

/** A journal that is lost with the process. */
export interface MemoryJournal extends Journal {
  /** Returns the remembered records, oldest first. */
  records(): readonly string[];
}

const REMEMBERED_RECORDS = 10_000;

/** Creates a volatile journal that forgets its oldest records. */
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
