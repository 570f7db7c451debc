/**
 * Seals drafts, in order: each names the record before it in its chain, is signed, and gets its
 * Audit-ID, which the next one names.   AGTP-IDENTIFIERS "Attribution Chain"
 */
import { hash } from "node:crypto";
import type { JournalRecord } from "../journal/journal.ts";
import { NO_AUDIT_ID, type RecordPayload } from "./record.ts";
import type { RecordSigner } from "./signer.ts";

/** Drafts as they are sealed, apart from what else is known of them. */
export interface SealingJob {
  readonly payloads: readonly RecordPayload[];
  /** For each payload the number of its chain in this job; -1: none. */
  readonly chains: readonly number[];
  /** For each chain the Audit-ID that its first payload follows. */
  readonly previous: readonly string[];
}

/** Takes records of a job, in order, while the others are still being sealed. */
export type Deliver = (records: readonly JournalRecord[]) => void;

export interface Sealer {
  /**
   * One record a payload; at once where nothing has to be waited for. What was delivered before is
   * not in the result again.
   */
  seal(
    job: SealingJob,
    deliver: Deliver,
  ): readonly JournalRecord[] | Promise<readonly JournalRecord[]>;
  /** Finishes the records that are being sealed, then closes. */
  close(): Promise<void>;
}

/** Seals on the thread that asks. */
export function createSealer(signer: RecordSigner): Sealer {
  return { seal: (job) => sealAll(job, signer), close: () => Promise.resolve() };
}

/** Seals a job with a signer. Each record is told as soon as it is sealed. */
export function sealAll(
  { payloads, chains, previous }: SealingJob,
  signer: Pick<RecordSigner, "sign">,
  onSealed?: (record: JournalRecord) => void,
): readonly JournalRecord[] {
  const heads = [...previous];
  return payloads.map(({ before, after }, index) => {
    const chain = chains[index] ?? -1;
    const jws = signer.sign(before + (heads[chain] ?? NO_AUDIT_ID) + after);
    const auditId = hash("sha256", jws);
    if (chain >= 0) heads[chain] = auditId;
    const record = { auditId, jws };
    onSealed?.(record);
    return record;
  });
}
