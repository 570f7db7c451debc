/** Notices to the operator about the state, beside faults: each is one line of the log. */
import { reasonOf } from "../base/thrown.ts";
import type { JournalCut } from "./journal/cut-record.ts";

/** Something that happened to what is kept. */
export interface StateNotice {
  readonly level: "info" | "warn" | "error";
  readonly event:
    | "clock-stepped-back"
    | "journal-tail-cut"
    | "node-taken-over"
    | "record-outcome-unknown"
    | "journal-sync-failed"
    | "journal-cut"
    | "journal-retention-failed"
    | "store-available"
    | "store-unavailable"
    | "store-went-back";
  /** Lower case, no full stop. */
  readonly message: string;
  /** In snake_case, as they stand in the line. */
  readonly fields: Readonly<Record<string, string | number>>;
}

/** A segment ended in half a record. */
export function tailCut(file: string, octets: number): StateNotice {
  const message = `${file} ended in half a record, which was never acknowledged and is cut off`;
  return { level: "warn", event: "journal-tail-cut", message, fields: { file, octets } };
}

/** Nobody knows what of a segment is on the disk. */
export function syncFailed(file: string, error: unknown): StateNotice {
  const message = `${file} cannot be synced: a power cut may lose its records; the next segment is begun`;
  const fields = { file, reason: reasonOf(error) };
  return { level: "error", event: "journal-sync-failed", message, fields };
}

/** Segments were archived or deleted, as the operator wants. */
export function journalCut({ segments, isArchived, cutId }: JournalCut): StateNotice {
  const [first, last] = [segments[0]?.file ?? "", segments.at(-1)?.file ?? ""];
  const done = isArchived ? "moved to the archive" : "deleted";
  const which = first === last ? `${first} was` : `${first} to ${last} were`;
  const octets = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  const records = segments.reduce((sum, one) => sum + one.records, 0);
  const fields = { segments: segments.length, records, octets, checkpoint: cutId };
  return { level: "info", event: "journal-cut", message: `${which} ${done}`, fields };
}

/** Nothing is cut until the reason is gone. */
export function retentionFailed(reason: string): StateNotice {
  const message = `old segments of the journal stay: ${reason}`;
  return { level: "error", event: "journal-retention-failed", message, fields: { reason } };
}
