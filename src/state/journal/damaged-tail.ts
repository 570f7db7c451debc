/**
 * Finds damaged lines behind the newest record of a chain. Such a line may have been the chain's own, so that
 * nobody can say that the chain ends where it seems to.
 * AGTP-IDENTIFIERS "Audit Log"
 */
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { decodeJws, keyOfHeader } from "../../identity/jws.ts";
import type { ChainBreak } from "../records/verify-chain.ts";
import { verifyRecord } from "../records/verify-record.ts";
import type { JournalPosition } from "./journal.ts";
import { readSegment, type SegmentPlace, type StoredRecord, segmentName } from "./segment.ts";

/** The end of a chain in a journal. */
interface ChainEnd extends JournalPosition {
  readonly auditId: string;
}

interface Line extends StoredRecord {
  readonly segment: number;
}

/**
 * Looks for a damaged line behind a chain's end: one that is no record, or the journal's last where its
 * signature does not hold. Of the others a signature would be dear, and their damage breaks their own chains.
 */
export async function findDamagedTail(
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

/** A key that a header brings tells what was altered, though not who signed. */
function isWhole(jws: string, keys: readonly Ed25519PublicKey[]): boolean {
  const own = keyOfHeader(decodeJws(jws)?.header ?? {});
  return verifyRecord(jws, own === undefined ? keys : [...keys, own]).kind !== "bad-signature";
}

function breakAt({ auditId }: ChainEnd, line: Line, what: string): ChainBreak {
  const place = `${segmentName(line.segment)} at octet ${line.offset}`;
  const message = `the line behind record ${auditId} (${place}) ${what}, and may have been the next one of this chain`;
  return { kind: "malformed-record", auditId: line.auditId, message };
}
