/**
 * The chain of one agent in the journal of a directory, which is only read: a daemon may be writing
 * it, and a copy of it can be checked anywhere. The journal has every record, so that a fork is seen
 * here, where a walk from the head sees only one branch.   AGTP-IDENTIFIERS "Audit Log"
 */

import { decodeJws } from "../../identity/jws.ts";
import { NO_AUDIT_ID } from "../records/record.ts";
import {
  type ChainBreak,
  type ChainReport,
  type CheckedChain,
  truncation,
} from "../records/verify-chain.ts";
import { BackwardWalk, MAX_PASSED, type PassedRecord } from "./backward-walk.ts";
import type { CutHead } from "./cut-heads.ts";
import type { JournalCut } from "./cut-record.ts";
import type { JournalPosition } from "./journal.ts";
import { type JournalChain, readInOrder } from "./journal-order.ts";
import { openJournalView, type ViewedJournal } from "./journal-view.ts";
import { readSegment, segmentName } from "./segment.ts";

/** Where a journal is, and whose chain is checked with what. */
export interface JournalQuestion extends ViewedJournal, Omit<CheckedChain, "begin"> {}

/** The findings, and what was taken away by a signed cut. */
export interface JournalReport extends ChainReport {
  readonly cut?: ChainCut | undefined;
}

/** The part of a chain that is gone. */
export interface ChainCut {
  /** The last one that is gone; undefined where no record of the chain is. */
  readonly auditId: string | undefined;
  readonly records: number;
  /** The file name of the last segment that is gone. */
  readonly through: string;
  /** RFC 3339. */
  readonly at: string;
  readonly isArchived: boolean;
}

/** Checks an agent's chain in a journal; undefined when it has no record of that agent. */
export async function verifyJournalChain(
  question: JournalQuestion,
): Promise<JournalReport | undefined> {
  const { segments, begin, cut, fault } = await openJournalView(question);
  const chain = { ...question, segments, begin: begin?.auditId };
  const inOrder = await readInOrder(chain);
  const found = inOrder === "disorder" ? await findReason(chain) : inOrder;
  const isKnown = begin !== undefined || fault !== undefined;
  const report = found ?? (isKnown ? nothingLeft(chain) : undefined);
  if (report === undefined) return undefined;
  const broken = fault ?? report.broken;
  // Read from its first record on, nothing of the chain is gone.
  const isWhole = cut === undefined || segments[0]?.number === 1;
  return { ...report, broken, cut: isWhole ? undefined : describeCut(cut, begin) };
}

function describeCut(cut: JournalCut, begin: CutHead | undefined): ChainCut {
  const { through, at, isArchived } = cut;
  return {
    ...{ auditId: begin?.auditId, records: begin?.sequence ?? 0, isArchived },
    ...{ through: segmentName(through), at: new Date(at).toISOString() },
  };
}

/** The report of a chain whose records are all gone. */
function nothingLeft({ agentId, begin, trustedHead }: JournalChain): ChainReport {
  const none = { records: 0, first: undefined, last: undefined };
  const counts = { verified: 0, unsigned: 0, unchecked: 0 };
  const isTrusted = trustedHead === undefined || trustedHead === begin;
  const broken = isTrusted ? undefined : truncation(trustedHead, begin);
  return { agentId, head: begin ?? NO_AUDIT_ID, ...none, ...counts, broken };
}

/** Walks back from the head, and looks for what the walk has passed over. */
async function findReason(chain: JournalChain): Promise<ChainReport | undefined> {
  const walk = new BackwardWalk(chain);
  const report = await walk.report();
  if (report === undefined) return undefined;
  // A cut tail matters less than a fault in the rest.
  const isCut = report.broken?.kind === "truncated";
  const isHeld = report.broken === undefined || isCut;
  const stray = isHeld ? await findStray(chain, walk.passed) : undefined;
  const broken = stray ?? report.broken;
  return { ...report, broken: broken && (await explain(broken, report, chain)) };
}

/** Adds what the order of the journal tells about a break. */
async function explain(
  broken: ChainBreak,
  { first }: ChainReport,
  chain: JournalChain,
): Promise<ChainBreak> {
  if (broken.kind !== "missing-record" || first === undefined) return broken;
  const before = await findBefore(chain, first.auditId);
  if (before === undefined) return broken;
  return { ...broken, message: `${broken.message}: ${describeGap(before)}` };
}

/** Where a journal has a record, and what it says of the one before it. */
interface JournalEntry extends PassedRecord, JournalPosition {}

/** Finds the first record, as they were written, that cannot be in one chain with the others. */
async function findStray(
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
async function findBefore(chain: JournalChain, auditId: string): Promise<JournalEntry | undefined> {
  let before: JournalEntry | undefined;
  for await (const entry of readEntries(chain)) {
    if (entry.auditId === auditId) return before;
    before = entry;
  }
  return undefined;
}

/** Says what may have become of a record that stood behind this one. */
function describeGap({ auditId, segment, offset }: JournalEntry): string {
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
