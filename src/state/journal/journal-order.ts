/**
 * Verifies an agent's chain in the order of writing, from its first record on. A valid chain needs nothing else, and
 * one record in memory at a time; any disorder is left to a walk that can explain it.   AGTP-IDENTIFIERS
 * "Attribution Chain"
 */

import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { decodeJws, keyOfHeader } from "../../identity/jws.ts";
import { NO_AUDIT_ID } from "../records/record.ts";
import {
  type ChainBreak,
  type ChainRecord,
  type ChainReport,
  type CheckedChain,
  describeRecord,
  truncation,
} from "../records/verify-chain.ts";
import { verifyRecord } from "../records/verify-record.ts";
import type { JournalPosition } from "./journal.ts";
import { readSegment, type SegmentPlace, type StoredRecord, segmentName } from "./segment.ts";

export interface JournalChain extends CheckedChain {
  /** In order. */
  readonly segments: readonly SegmentPlace[];
}

/** The state after the record read last. */
interface Progress {
  readonly counts: { verified: number; unsigned: number; unchecked: number };
  records: number;
  first: ChainRecord | undefined;
  last: ChainRecord | undefined;
  lastPlace: JournalPosition | undefined;
  lastAt: number;
  isLastUnsigned: boolean;
  isTrusted: boolean;
}

/** Reports a chain that is in order; undefined without a record of the agent. */
export async function readInOrder(
  chain: JournalChain,
): Promise<ChainReport | "disorder" | undefined> {
  const { segments, begin, agentId, keys, trustedHead } = chain;
  const progress: Progress = {
    counts: { verified: 0, unsigned: 0, unchecked: 0 },
    ...{ records: 0, first: undefined, last: undefined, lastPlace: undefined },
    ...{ lastAt: Number.NEGATIVE_INFINITY, isLastUnsigned: false },
    isTrusted: trustedHead === undefined || trustedHead === begin,
  };
  for (const { directory, number } of segments) {
    for await (const { auditId, jws, offset } of readSegment(directory, number)) {
      if (!mayBeOf(jws, agentId)) continue;
      const { records } = progress;
      if (!advance(progress, chain, auditId, jws)) return "disorder";
      if (progress.records > records) progress.lastPlace = { segment: number, offset };
    }
  }
  const { counts, records, first, last, lastPlace, isLastUnsigned, isTrusted } = progress;
  if (last === undefined || lastPlace === undefined) return undefined;
  // An unsigned head is a break, which the backward walk reports.
  if (isLastUnsigned && keys.length > 0) return "disorder";
  const head = last.auditId;
  const damaged = await findDamagedTail(segments, { auditId: head, ...lastPlace }, keys);
  const broken = damaged ?? (isTrusted ? undefined : truncation(trustedHead, head));
  return { agentId, head, records, first, last, ...counts, broken };
}

/** Checks the next record if it is the agent's; false if it breaks the order. */
function advance(
  progress: Progress,
  { agentId, begin, keys, trustedHead, judge }: JournalChain,
  auditId: string,
  jws: string,
): boolean {
  const verdict = verifyRecord(jws, keys);
  if ("fault" in verdict) return false;
  const { kind, payload } = verdict;
  if (payload["agent_id"] !== agentId) return true;
  if (judge?.(payload) !== undefined) return false;
  const { issued_at: issuedAt, previous_audit_id: previous } = payload;
  const at = typeof issuedAt === "string" ? Date.parse(issuedAt) : Number.NaN;
  // Written so that NaN fails too.
  if (previous !== (progress.last?.auditId ?? begin ?? NO_AUDIT_ID) || !(at >= progress.lastAt))
    return false;
  const record = describeRecord(auditId, String(issuedAt), payload);
  progress.records += 1;
  progress.counts[kind] += 1;
  progress.first ??= record;
  progress.last = record;
  progress.lastAt = at;
  progress.isLastUnsigned = kind === "unsigned";
  progress.isTrusted ||= auditId === trustedHead;
  return true;
}

/** Skips most records of other agents without parsing them. */
function mayBeOf(jws: string, agentId: string): boolean {
  const [, payload = ""] = jws.split(".", 2);
  const text = Buffer.from(payload, "base64url").toString("latin1");
  // JSON may escape any character.
  return text.includes(agentId) || text.includes("\\u");
}

interface ChainEnd extends JournalPosition {
  readonly auditId: string;
}

interface Line extends StoredRecord {
  readonly segment: number;
}

/**
 * Finds a damaged line after the chain's end that may have belonged to it, so that the end is uncertain: a line that
 * is not a record, or the journal's last with an invalid signature. Signatures of other lines are not checked, which
 * would be expensive, and their damage breaks their own chains.
 */
async function findDamagedTail(
  segments: readonly SegmentPlace[],
  end: ChainEnd,
  keys: readonly Ed25519PublicKey[],
): Promise<ChainBreak | undefined> {
  let last: Line | undefined;
  for (const { directory, number: segment } of segments) {
    if (segment < end.segment) continue;
    const from = segment === end.segment ? end.offset : 0;
    for await (const record of readSegment(directory, segment, from)) {
      last = { ...record, segment };
      if (decodeJws(record.jws) === undefined) return breakAt(end, last, "is no record");
    }
  }
  if (last === undefined || isWhole(last.jws, keys)) return undefined;
  return breakAt(end, last, "has a signature that does not verify");
}

/** A key from the header detects an alteration, though not the signer. */
function isWhole(jws: string, keys: readonly Ed25519PublicKey[]): boolean {
  const own = keyOfHeader(decodeJws(jws)?.header ?? {});
  return verifyRecord(jws, own === undefined ? keys : [...keys, own]).kind !== "bad-signature";
}

function breakAt({ auditId }: ChainEnd, line: Line, what: string): ChainBreak {
  const place = `${segmentName(line.segment)} at octet ${line.offset}`;
  const message = `the line behind record ${auditId} (${place}) ${what}, and may have been the next one of this chain`;
  return { kind: "malformed-record", auditId: line.auditId, message };
}
