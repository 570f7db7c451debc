/**
 * The chain of one agent in the journal of a directory, which is only read: a daemon may be writing
 * it, and a copy of it can be checked anywhere. The journal has every record, so that a fork is seen
 * here, where a walk from the head sees only one branch.   AGTP-IDENTIFIERS "Audit Log"
 */
import type { Ed25519PublicKey } from "../identity/ed25519.ts";
import { decodeJws } from "../identity/jws.ts";
import { type JournalChain, readInOrder } from "./journal-order.ts";
import { NO_AUDIT_ID } from "./record.ts";
import { type Extent, listSegments, readSegment, segmentName } from "./segment.ts";
import { readExtent } from "./segment-index.ts";
import { type ChainBreak, type ChainReport, verifyChain } from "./verify-chain.ts";

/** Where a journal has a record, and what it says of the one before it. */
interface JournalEntry extends Extent {
  readonly auditId: string;
  readonly previous: unknown;
  readonly segment: number;
}

/**
 * Checks an agent's chain in a journal; undefined when it has no record of that agent. `trustedHead`
 * is the Audit-ID of a record that is known to have been in it.
 */
export async function verifyJournalChain(
  directory: string,
  agentId: string,
  keys: readonly Ed25519PublicKey[],
  trustedHead?: string,
): Promise<ChainReport | undefined> {
  const report = await readInOrder({ directory, agentId, keys, trustedHead });
  // Finding the reason needs every record at hand, in whatever order.
  return report === "disorder" ? walkBackward({ directory, agentId, keys, trustedHead }) : report;
}

async function walkBackward({
  directory,
  agentId,
  keys,
  trustedHead,
}: JournalChain): Promise<ChainReport | undefined> {
  const entries = await readEntries(directory, agentId);
  const newest = [...entries.values()].at(-1);
  if (newest === undefined) return undefined;
  const report = await verifyChain({
    ...{ agentId, head: newest.auditId, keys, trustedHead },
    fetch: async (auditId) => {
      const entry = entries.get(auditId);
      return entry && readExtent(directory, entry.segment, entry);
    },
  });
  // A cut tail matters less than a fault in the rest.
  const cut = report.broken?.kind === "truncated" ? report.broken : undefined;
  const stray = cut === report.broken ? findStray([...entries.values()]) : undefined;
  const broken = stray ?? report.broken;
  return { ...report, broken: broken && explain(broken, report, [...entries.values()]) };
}

/** The agent's records in the order they were written. */
async function readEntries(
  directory: string,
  agentId: string,
): Promise<ReadonlyMap<string, JournalEntry>> {
  const entries = new Map<string, JournalEntry>();
  for (const segment of listSegments(directory)) {
    for await (const { auditId, jws, offset, length } of readSegment(directory, segment)) {
      const payload = decodeJws(jws)?.payload;
      if (payload?.["agent_id"] !== agentId) continue;
      entries.set(auditId, {
        auditId,
        previous: payload["previous_audit_id"],
        segment,
        offset,
        length,
      });
    }
  }
  return entries;
}

/** Records are one chain when each names another of them, and no two the same. */
function findStray(entries: readonly JournalEntry[]): ChainBreak | undefined {
  const known = new Set(entries.map(({ auditId }) => auditId));
  const followers = new Map<unknown, string>();
  for (const { auditId, previous } of entries) {
    const other = followers.get(previous);
    if (other !== undefined) {
      const message = `records ${other} and ${auditId} both follow record ${String(previous)}`;
      return { kind: "fork", auditId, message };
    }
    if (previous !== NO_AUDIT_ID && !known.has(String(previous))) {
      const message = `record ${String(previous)} is missing, record ${auditId} names it`;
      return { kind: "missing-record", auditId: String(previous), message };
    }
    followers.set(previous, auditId);
  }
  return undefined;
}

/** Adds what the order of the journal tells about a break. */
function explain(
  broken: ChainBreak,
  { first }: ChainReport,
  entries: readonly JournalEntry[],
): ChainBreak {
  if (broken.kind !== "missing-record") return broken;
  const index = entries.findIndex(({ auditId }) => auditId === first?.auditId);
  const before = index > 0 ? entries[index - 1] : undefined;
  if (before === undefined) return broken;
  const place = `${segmentName(before.segment)} at octet ${before.offset}`;
  const cause = `it was taken out behind record ${before.auditId} (${place}), or that one was altered`;
  return { ...broken, message: `${broken.message}: ${cause}` };
}
