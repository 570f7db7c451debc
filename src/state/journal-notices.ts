/** Lines of the log that are about the journal. */
import { reasonOf } from "../base/thrown.ts";
import type { StateNotice } from "./notice.ts";

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
