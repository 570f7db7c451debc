/**
 * Finds the record that an agent's chain goes on with behind a gap: the newest of the agent that stands
 * before a place in the journal, whatever its neighbours say.   AGTP-IDENTIFIERS "Audit Log"
 */
import { codeOf } from "../../base/thrown.ts";
import { decodeJws } from "../../identity/jws.ts";
import type { JournalPosition, JournalRecord } from "./journal.ts";
import { listSegments } from "./segment.ts";
import { readBackward } from "./segment-backward.ts";

/** The record before which it is looked for; the whole journal is without one. */
interface Gap {
  readonly agentId: string;
  readonly auditId: string | undefined;
  /** Where that record stands; undefined where no index has it. */
  readonly place: JournalPosition | undefined;
}

/** A person waits for it: an agent that has long been silent is not looked for further back. */
const MAX_OCTETS = 64 * 1024 * 1024;

/** Undefined: none stands there, or it stands too far back. */
export async function findRecordBefore(
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
