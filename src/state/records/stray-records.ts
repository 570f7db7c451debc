/**
 * Says of records that are not in the chain of their agent how that came about: two that follow the
 * same one, or one whose own predecessor is gone.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import { decodeJws } from "../../identity/jws.ts";
import { MAX_PASSED, type PassedRecord } from "../journal/backward-walk.ts";
import type { JournalChain } from "../journal/journal-order.ts";
import { readSegment, segmentName } from "../journal/segment.ts";
import { NO_AUDIT_ID } from "./record.ts";
import type { ChainBreak } from "./verify-chain.ts";

/** Where a journal has a record, and what it says of the one before it. */
interface JournalEntry {
  readonly auditId: string;
  readonly previous: unknown;
  readonly segment: number;
  readonly offset: number;
}

/** Finds the first record, as they were written, that cannot be in one chain with the others. */
export async function findStray(
  chain: JournalChain,
  passed: readonly PassedRecord[],
): Promise<ChainBreak | undefined> {
  const wanted = new Set(passed.map(({ previous }) => previous));
  if (wanted.size === 0) return undefined;
  const known = new Set<unknown>([NO_AUDIT_ID, chain.begin]);
  const behind = new Map<string, unknown>();
  for await (const { auditId, previous } of readEntries(chain)) {
    if (wanted.has(auditId)) known.add(auditId);
    if (wanted.has(previous) && behind.size < 2 * MAX_PASSED) behind.set(auditId, previous);
  }
  const followers = new Map<unknown, string>();
  for (const [auditId, previous] of behind) {
    const other = followers.get(previous);
    if (other !== undefined) {
      const message = `records ${other} and ${auditId} both follow record ${String(previous)}`;
      return { kind: "fork", auditId, message };
    }
    if (!known.has(previous)) {
      const message = `record ${String(previous)} is missing, record ${auditId} names it`;
      return { kind: "missing-record", auditId: String(previous), message };
    }
    followers.set(previous, auditId);
  }
  return undefined;
}

/** The record of the agent that stands before one of its records. */
export async function findBefore(
  chain: JournalChain,
  auditId: string,
): Promise<JournalEntry | undefined> {
  let before: JournalEntry | undefined;
  for await (const entry of readEntries(chain)) {
    if (entry.auditId === auditId) return before;
    before = entry;
  }
  return undefined;
}

/** Says what may have become of a record that stood behind this one. */
export function describeGap({ auditId, segment, offset }: JournalEntry): string {
  const place = `${segmentName(segment)} at octet ${offset}`;
  return `it was taken out behind record ${auditId} (${place}), or that one was altered`;
}

/** The agent's records in the order they were written. */
async function* readEntries({ segments, agentId }: JournalChain): AsyncGenerator<JournalEntry> {
  for (const { directory, number: segment } of segments) {
    for await (const { auditId, jws, offset } of readSegment(directory, segment)) {
      const payload = decodeJws(jws)?.payload;
      if (payload?.["agent_id"] !== agentId) continue;
      yield { auditId, previous: payload["previous_audit_id"], segment, offset };
    }
  }
}
