/** Notices to the operator about the state, besides faults: one line of the log each. */
import { reasonOf } from "../base/thrown.ts";
import type { JournalCut } from "./journal/cut-record.ts";

/** An event that concerns the stored state. */
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
  /** In snake_case, as in the log line. */
  readonly fields: Readonly<Record<string, string | number>>;
}

/** A segment ended in a partial record. */
export function tailCut(file: string, octets: number): StateNotice {
  const message = `${file} ended in half a record, which was never acknowledged and is cut off`;
  return { level: "warn", event: "journal-tail-cut", message, fields: { file, octets } };
}

/** A segment could not be synced, so that it is unknown what of it is on the disk. */
export function syncFailed(file: string, error: unknown): StateNotice {
  const message = `${file} cannot be synced: a power cut may lose its records; the next segment is begun`;
  const fields = { file, reason: reasonOf(error) };
  return { level: "error", event: "journal-sync-failed", message, fields };
}

/** Segments were archived or deleted by retention. */
export function journalCut({ segments, isArchived, cutId }: JournalCut): StateNotice {
  const [first, last] = [segments[0]?.file ?? "", segments.at(-1)?.file ?? ""];
  const done = isArchived ? "moved to the archive" : "deleted";
  const which = first === last ? `${first} was` : `${first} to ${last} were`;
  const octets = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  const records = segments.reduce((sum, one) => sum + one.records, 0);
  const fields = { segments: segments.length, records, octets, checkpoint: cutId };
  return { level: "info", event: "journal-cut", message: `${which} ${done}`, fields };
}

/** Retention stops until the reason is resolved. */
export function retentionFailed(reason: string): StateNotice {
  const message = `old segments of the journal stay: ${reason}`;
  return { level: "error", event: "journal-retention-failed", message, fields: { reason } };
}
