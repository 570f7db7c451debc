/**
 * Reads records of a chain from the newest back: what stands before a record that was looked up is
 * read along with it, as the record before it in its chain is most often there.
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

/** How much is read at a time: some hundred records. */
const BLOCK = 128 * 1024;

/** Reads for one walk; `locate` says where a record stands. */
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

/** A record and those before it in its segment, under the hashes that they have. */
async function readBefore(
  directory: string,
  { segment, offset, length }: RecordPlace,
): Promise<ReadonlyMap<string, string>> {
  const end = offset + length;
  const start = Math.max(0, Math.min(offset, end - BLOCK));
  // Segments may be taken away while the server runs.
  const file = await openIfThere(join(directory, segmentName(segment)));
  if (file === undefined) return new Map();
  try {
    const octets = Buffer.alloc(end - start);
    await file.read(octets, 0, octets.length, start);
    const lines = octets.toString("latin1").split("\n");
    // The first one may be the end of a line.
    const whole = start === 0 || start === offset ? lines : lines.slice(1);
    return new Map(whole.map((jws) => [hash("sha256", jws), jws]));
  } finally {
    await file.close();
  }
}

/** The record before which it is looked for; the whole journal is without one. */
interface Gap {
  readonly agentId: string;
  readonly auditId: string | undefined;
  /** Where that record stands; undefined where no index has it. */
  readonly place: JournalPosition | undefined;
}

/** A person waits for it: an agent that has long been silent is not looked for further back. */
const MAX_OCTETS = 64 * 1024 * 1024;

/**
 * The newest record of an agent that stands before a place in the journal, whatever its neighbours say:
 * with it the chain goes on behind a gap. Undefined: none stands there, or it stands too far back.
 * AGTP-IDENTIFIERS "Audit Log"
 */
async function findRecordBefore(
  directory: string,
  { agentId, auditId, place }: Gap,
): Promise<JournalRecord | undefined> {
  const segments = listSegments(directory).map((number) => ({ directory, number }));
  // A line that was altered is in no index, and known by the hash that it has now.
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
    // Segments may be taken away while the server runs.
    if (codeOf(error) !== "ENOENT") throw error;
  }
  return undefined;
}
