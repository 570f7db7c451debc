/**
 * Reads a chain's records from the newest back. A lookup reads the preceding block as well, since it usually holds
 * the previous records of the chain.
 */

import { hash } from "node:crypto";
import { join } from "node:path";
import { codeOf } from "../../base/thrown.ts";
import { decodeJws } from "../../identity/jws.ts";
import type {
  JournalPosition,
  JournalRecord,
  RecordPlace,
  RecordReader,
} from "../journal/journal.ts";
import { openIfThere } from "../journal/journal-disk.ts";
import { listSegments, segmentName } from "../journal/segment.ts";
import { readBackward } from "../journal/segment-backward.ts";

/** The size of a block: some hundred records. */
const BLOCK = 128 * 1024;

/** Opens a reader for one walk; `locate` returns a record's place. */
export function openChainReader(
  directory: string,
  locate: (auditId: string) => Promise<RecordPlace | undefined>,
): RecordReader {
  let known: ReadonlyMap<string, string> = new Map();
  return {
    find: async (auditId) => {
      const found = known.get(auditId);
      if (found !== undefined) return found;
      const place = await locate(auditId);
      if (place === undefined) return undefined;
      known = await readBefore(directory, place);
      return known.get(auditId);
    },
    before: async (agentId, auditId) => {
      const place = auditId === undefined ? undefined : await locate(auditId);
      return findRecordBefore(directory, { agentId, auditId, place });
    },
  };
}

/** Returns a record and those before it in its block, by their hashes. */
async function readBefore(
  directory: string,
  { segment, offset, length }: RecordPlace,
): Promise<ReadonlyMap<string, string>> {
  const end = offset + length;
  const start = Math.max(0, Math.min(offset, end - BLOCK));
  // Retention may remove segments while the server runs.
  const file = await openIfThere(join(directory, segmentName(segment)));
  if (file === undefined) return new Map();
  try {
    const octets = Buffer.alloc(end - start);
    await file.read(octets, 0, octets.length, start);
    const lines = octets.toString("latin1").split("\n");
    // The first line may be incomplete.
    const whole = start === 0 || start === offset ? lines : lines.slice(1);
    return new Map(whole.map((jws) => [hash("sha256", jws), jws]));
  } finally {
    await file.close();
  }
}

/** The record to search backward from; undefined: the end of the journal. */
interface Gap {
  readonly agentId: string;
  readonly auditId: string | undefined;
  /** The record's place; undefined if no index has it. */
  readonly place: JournalPosition | undefined;
}

/** Bounds the search, since a person waits for it and the agent may have been silent for long. */
const MAX_OCTETS = 64 * 1024 * 1024;

/**
 * Returns the newest record of an agent before a place in the journal, whatever record names it, so that a walk
 * continues past a gap. Undefined if there is none within the bound.   AGTP-IDENTIFIERS "Audit Log"
 */
async function findRecordBefore(
  directory: string,
  { agentId, auditId, place }: Gap,
): Promise<JournalRecord | undefined> {
  const segments = listSegments(directory).map((number) => ({ directory, number }));
  // An altered line is in no index, and is known by its current hash only.
  let isBefore = auditId === undefined || place !== undefined;
  let octets = 0;
  try {
    for await (const record of readBackward(segments, place)) {
      octets += record.length;
      if (octets > MAX_OCTETS) return undefined;
      const { jws } = record;
      if (isBefore && decodeJws(jws)?.payload["agent_id"] === agentId) {
        return { auditId: record.auditId, jws };
      }
      isBefore ||= record.auditId === auditId;
    }
  } catch (error) {
    // Retention may remove segments while the server runs.
    if (codeOf(error) !== "ENOENT") throw error;
  }
  return undefined;
}
