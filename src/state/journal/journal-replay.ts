/**
 * Replays the journal after the last checkpoint for the growth of chains and the events of agents. Finds lines that
 * are not records, and missing records that others name.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import { decodeJws } from "../../identity/jws.ts";
import { NO_AUDIT_ID } from "../records/record.ts";
import type { ChainHead } from "../records/record-store.ts";
import type { FileJournal } from "./file-journal.ts";
import { isBefore, type JournalPosition, type JournalRecord } from "./journal.ts";
import type { JournalDamage } from "./journal-damage.ts";
import { segmentName } from "./segment.ts";

interface Replay {
  readonly grown: ReadonlyMap<string, ChainHead>;
  /** Lifecycle events, in order. */
  readonly events: readonly JournalRecord[];
  readonly damages: readonly JournalDamage[];
}

/** The most damages reported. */
const MAX_DAMAGES = 100;

/** Replays a journal from the position up to which the store knows these heads; stops at the bound on damages. */
export async function replayJournal(
  journal: FileJournal,
  from: JournalPosition,
  heads: ReadonlyMap<string, ChainHead>,
  maxDamages: number = MAX_DAMAGES,
): Promise<Replay> {
  const grown = new Map<string, ChainHead>();
  const events: JournalRecord[] = [];
  const damages: JournalDamage[] = [];
  for await (const { auditId, jws, segment, offset, length } of journal.replay(from)) {
    const file = segmentName(segment);
    const record = readChainRecord(jws);
    if (record === undefined) {
      damages.push({ kind: "no-record", file, offset, length });
    } else {
      const { agentId, at, method, previous, isEvent } = record;
      const before = grown.get(agentId) ?? earlier(heads.get(agentId), from);
      const follows = before === undefined || previous === before.auditId;
      if (!follows && previous !== NO_AUDIT_ID && (await journal.find(previous)) === undefined) {
        damages.push({ kind: "lost-record", agentId, auditId: previous, file });
      }
      grown.set(agentId, { auditId, at, method, place: { segment, offset, length } });
      if (isEvent) events.push({ auditId, jws });
    }
    if (damages.length >= maxDamages) break;
  }
  return { grown, events, damages };
}

/** A record's members that concern its chain. */
interface ChainRecordFacts {
  readonly agentId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  readonly previous: string;
  readonly isEvent: boolean;
}

/** Reads them; undefined if the line is not a record of a chain. */
export function readChainRecord(jws: string): ChainRecordFacts | undefined {
  const payload = decodeJws(jws)?.payload;
  if (payload === undefined) return undefined;
  const { agent_id: agentId, issued_at: issuedAt, method, previous_audit_id: previous } = payload;
  if (typeof agentId !== "string" || typeof previous !== "string") return undefined;
  const at = typeof issuedAt === "string" ? Date.parse(issuedAt) : Number.NaN;
  if (Number.isNaN(at)) return undefined;
  const isEvent = "event_type" in payload;
  return { agentId, at, method: typeof method === "string" ? method : "", previous, isEvent };
}

/** Ignores a head after the position, since the replay meets that record again. */
function earlier(head: ChainHead | undefined, from: JournalPosition): ChainHead | undefined {
  return head?.place !== undefined && isBefore(head.place, from) ? head : undefined;
}
