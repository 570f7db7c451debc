/** The seam between the ledger and those who seal its drafts, and what they have in common. */
import type { JournalRecord } from "../journal/journal.ts";
import type { ChainHeads } from "./chain-heads.ts";
import type { Chain, RecordDraft } from "./draft.ts";
import { NO_AUDIT_ID } from "./record.ts";
import type { ChainedRecord, ChainHead, RecordBatch, RecordStore } from "./record-store.ts";
import type { SealingJob } from "./sealer.ts";

/** Told once the drafts before it are sealed and written, or with why they could not be. */
export type Settled = (failure: Error | undefined) => void;

/** Seals drafts and has them kept. */
export interface DraftWriter {
  /** Takes a draft, which is sealed with what else arrives in this turn of the loop. */
  add(draft: RecordDraft): void;
  /** Calls back when what was added so far is settled: at once, when that is so already. */
  whenSettled(done: Settled): void;
  /** The chains of drafts that are not settled, in order. */
  pending(): Iterable<Chain>;
}

/** The surroundings of a writer. */
export interface WriterOptions {
  readonly store: RecordStore;
  readonly heads: ChainHeads;
  onFailure(error: Error): void;
  /** Told of records of chains that were kept. */
  onKept(): void;
  /** Told of the head of a chain that another process has moved. */
  onMoved(head: ChainHead): void;
}

/** Answers where a chain ends, behind which its next record is sealed. */
export type HeadOf = (agentId: string) => ChainHead | undefined;

/** The job of sealing drafts, each behind the one before it in its chain. */
export function jobOf(drafts: readonly RecordDraft[], headOf: HeadOf): SealingJob {
  const numbers = new Map<string, number>();
  const previous: string[] = [];
  const chains = drafts.map(({ chain }) => {
    if (chain === undefined) return -1;
    const known = numbers.get(chain.agentId);
    if (known !== undefined) return known;
    numbers.set(chain.agentId, previous.length);
    return previous.push(headOf(chain.agentId)?.auditId ?? NO_AUDIT_ID) - 1;
  });
  return { payloads: drafts.map(({ payload }) => payload), chains, previous };
}

/** Sealed drafts as they are appended; what is in no chain is not. */
export function batchOf(
  drafts: readonly RecordDraft[],
  records: readonly JournalRecord[],
  headOf: HeadOf,
): RecordBatch {
  const chained: ChainedRecord[] = [];
  const expected = new Map<string, string>();
  const since = new Map<string, number>();
  let before: string | undefined;
  for (const [index, { auditId, jws }] of records.entries()) {
    const chain = drafts[index]?.chain;
    if (chain === undefined) continue;
    chained.push({ auditId, jws, chain });
    const { agentId } = chain;
    if (agentId === before || expected.has(agentId)) continue;
    before = agentId;
    const head = headOf(agentId);
    expected.set(agentId, head?.auditId ?? NO_AUDIT_ID);
    if (head !== undefined) since.set(agentId, head.at);
  }
  return { records: chained, expected, since };
}

/** An error of whatever was thrown. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
