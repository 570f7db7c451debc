/**
 * The newest record of a journal that is known to be on its disk, in a small file beside the
 * segments: a killed process leaves no checkpoint, and without this nobody would miss whole lines
 * that were taken from the end since the last one.   AGTP-IDENTIFIERS "Audit Log"
 */
import { closeSync, constants, writeSync } from "node:fs";
import { join } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { parseRecord } from "../../base/json-value.ts";
import { openStateFile } from "../../base/state-files.ts";
import { decodeJws } from "../../identity/jws.ts";
import { readPlace } from "../records/known-chains.ts";
import type { JournalRecord, RecordPlace } from "./journal.ts";

/** A record of which a sync has made sure. */
interface SyncedRecord {
  readonly auditId: string;
  readonly agentId: string;
  readonly place: RecordPlace;
}

const NAME = "synced.json";
/** Always as long, so that it is replaced in one write. */
const LENGTH = 512;
const FLAGS = constants.O_WRONLY | constants.O_CREAT;

/** Notes a record; of what is none, nothing is noted. */
export function writeSyncedMark(
  directory: string,
  { auditId, jws }: JournalRecord,
  place: RecordPlace,
): void {
  const agentId = decodeJws(jws)?.payload["agent_id"];
  if (typeof agentId !== "string") return;
  const text = JSON.stringify({ agent_id: agentId, audit_id: auditId, ...place });
  if (text.length >= LENGTH) return;
  const file = openStateFile(join(directory, NAME), FLAGS);
  try {
    writeSync(file, `${text.padEnd(LENGTH - 1)}\n`, 0);
  } finally {
    closeSync(file);
  }
}

/** Undefined where nothing is noted, or cannot be read: an earlier build noted nothing. */
export function readSyncedMark(directory: string): SyncedRecord | undefined {
  const { text = "" } = readBoundedFile(join(directory, NAME), LENGTH);
  const mark = parseRecord(text) ?? {};
  const { agent_id: agentId, audit_id: auditId } = mark;
  const place = readPlace(mark);
  if (typeof agentId !== "string" || typeof auditId !== "string") return undefined;
  return place && { agentId, auditId, place };
}
