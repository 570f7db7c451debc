/**
 * Verifies an agent's chain in a journal directory, read-only: a daemon may be writing it, and a copy can be checked
 * anywhere. The journal has every record, so that forks are seen which a walk from the head misses.   AGTP-IDENTIFIERS
 * "Audit Log"
 */

import { join } from "node:path";
import { reasonOf } from "../../base/thrown.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { decodeJws } from "../../identity/jws.ts";
import { NO_AUDIT_ID } from "../records/record.ts";
import {
  type ChainBreak,
  type ChainReport,
  type CheckedChain,
  truncation,
} from "../records/verify-chain.ts";
import { verifyRecord } from "../records/verify-record.ts";
import { BackwardWalk, MAX_PASSED, type PassedRecord } from "./backward-walk.ts";
import { readCutLines } from "./cut-file.ts";
import { type CutHead, readCutHeads } from "./cut-heads.ts";
import { type CutSegment, findCutFault, type JournalCut, readCut } from "./cut-record.ts";
import { digestOf } from "./cut-survey.ts";
import type { JournalPosition } from "./journal.ts";
import { type JournalChain, readInOrder } from "./journal-order.ts";
import {
  listSegments,
  readSegment,
  type SegmentPlace,
  segmentName,
  segmentNumber,
} from "./segment.ts";

/** The journal, the agent, and the keys to check with. */
export interface JournalQuestion extends ViewedJournal, Omit<CheckedChain, "begin"> {}

/** The findings, and the part removed by a signed cut. */
export interface JournalReport extends ChainReport {
  readonly cut?: ChainCut | undefined;
}

/** The removed part of a chain. */
export interface ChainCut {
  /** The last record removed; undefined if none of the chain was. */
  readonly auditId: string | undefined;
  readonly records: number;
  /** The file name of the last segment removed. */
  readonly through: string;
  /** RFC 3339. */
  readonly at: string;
  readonly isArchived: boolean;
}

/** Verifies an agent's chain in a journal; undefined if it has no record of that agent. */
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
  // The chain was read from its first record on, so nothing of it is missing.
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

function nothingLeft({ agentId, begin, trustedHead }: JournalChain): ChainReport {
  const none = { records: 0, first: undefined, last: undefined };
  const counts = { verified: 0, unsigned: 0, unchecked: 0 };
  const isTrusted = trustedHead === undefined || trustedHead === begin;
  const broken = isTrusted ? undefined : truncation(trustedHead, begin);
  return { agentId, head: begin ?? NO_AUDIT_ID, ...none, ...counts, broken };
}

/** Walks back from the head, and examines records that the walk passed over. */
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

/** Adds details about a break from the order of the journal. */
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

/** A record's place, and the predecessor it names. */
interface JournalEntry extends PassedRecord, JournalPosition {}

/** Returns the first record, in the order of writing, that cannot be in one chain with the others. */
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

/** Returns the agent's record before one of its records. */
async function findBefore(chain: JournalChain, auditId: string): Promise<JournalEntry | undefined> {
  let before: JournalEntry | undefined;
  for await (const entry of readEntries(chain)) {
    if (entry.auditId === auditId) return before;
    before = entry;
  }
  return undefined;
}

/** Describes what may have happened to the record after this one. */
function describeGap({ auditId, segment, offset }: JournalEntry): string {
  const place = `${segmentName(segment)} at octet ${offset}`;
  return `it was taken out behind record ${auditId} (${place}), or that one was altered`;
}

/** Yields the agent's records in the order of writing. */
async function* readEntries({ segments, agentId }: JournalChain): AsyncGenerator<JournalEntry> {
  for (const { directory, number: segment } of segments) {
    for await (const { auditId, jws, offset } of readSegment(directory, segment)) {
      const payload = decodeJws(jws)?.payload;
      if (payload?.["agent_id"] !== agentId) continue;
      yield { auditId, previous: payload["previous_audit_id"], segment, offset };
    }
  }
}

/** The journal to examine. */
interface ViewedJournal extends Pick<CheckedChain, "agentId" | "keys"> {
  readonly directory: string;
  /** The directory of archived segments. */
  readonly archive?: string | undefined;
}

/** The readable part of a journal. */
interface JournalView {
  /** In order. */
  readonly segments: readonly SegmentPlace[];
  /** The last cut; undefined if nothing was cut. */
  readonly cut: JournalCut | undefined;
  /** The chain's head at the last cut; undefined if the chain is read from its first record. */
  readonly begin: CutHead | undefined;
  readonly fault: ChainBreak | undefined;
}

/**
 * Opens a journal for verification: its segments, in its own directory and in an archive, and the beginning of the
 * agent's chain in them. A segment that is missing without a signed checkpoint is a fault.   AGTP-IDENTIFIERS "Audit
 * Log"
 */
async function openJournalView(journal: ViewedJournal): Promise<JournalView> {
  const { directory, archive } = journal;
  const own = listSegments(directory).map((number) => ({ directory, number }));
  const { cuts, fault } = await readCuts(journal);
  const cut = cuts.at(-1);
  if (cut === undefined) return { segments: own, cut, begin: undefined, fault };
  const left = own.filter(({ number }) => number > cut.through);
  const gap = left[0] === undefined ? undefined : findGap(cut.through, left[0].number);
  const gone = findGone(journal, cuts, own);
  if (gone !== undefined) {
    const segments = [...gone, ...left];
    const altered = archive === undefined ? undefined : await findAltered(archive, cuts);
    return { segments, cut, begin: undefined, fault: fault ?? gap ?? altered };
  }
  const lost = archive === undefined ? undefined : findLost(archive, cuts, own);
  try {
    const begin = await findHead(journal, cut);
    return { segments: left, cut, begin, fault: fault ?? gap ?? lost ?? findHole(begin) };
  } catch (error) {
    const unread = badCheckpoint(cut, reasonOf(error));
    return { segments: left, cut, begin: undefined, fault: fault ?? unread };
  }
}

/** Reads the cuts up to the first invalid one. */
async function readCuts({ directory, keys }: ViewedJournal): Promise<{
  readonly cuts: readonly JournalCut[];
  readonly fault: ChainBreak | undefined;
}> {
  const cuts: JournalCut[] = [];
  for await (const jws of readCutLines(directory)) {
    const cut = readCut(jws);
    const before = cuts.at(-1);
    if (cut === undefined) {
      return { cuts, fault: badCheckpoint(before, "is followed by a line that is none") };
    }
    cuts.push(cut);
    const reason = findCutFault(cut, before) ?? findSignatureFault(cut, keys);
    if (reason !== undefined) return { cuts, fault: badCheckpoint(cut, reason) };
  }
  return { cuts, fault: undefined };
}

function findSignatureFault(
  { jws }: JournalCut,
  keys: readonly Ed25519PublicKey[],
): string | undefined {
  const verdict = verifyRecord(jws, keys);
  if ("fault" in verdict) return verdict.fault;
  const isOpen = verdict.kind === "unsigned" && keys.length > 0;
  return isOpen ? "is not signed, so that no key vouches for it" : undefined;
}

/** Returns the removed segments if every one is available; undefined otherwise. */
function findGone(
  { archive }: ViewedJournal,
  cuts: readonly JournalCut[],
  own: readonly SegmentPlace[],
): readonly SegmentPlace[] | undefined {
  const archived = archive === undefined ? [] : listSegments(archive);
  const places = new Map(archived.map((number) => [number, archive ?? ""]));
  for (const { number, directory } of own) places.set(number, directory);
  const found: SegmentPlace[] = [];
  for (const { file } of segmentsOf(cuts)) {
    const number = segmentNumber(file) ?? 0;
    const directory = places.get(number);
    if (directory === undefined) return undefined;
    found.push({ directory, number });
  }
  // A segment missing before the first cut was removed by hand.
  return found[0]?.number === 1 ? found : undefined;
}

/** Finds a segment that is neither in the archive named for it, nor still moving there. */
function findLost(
  archive: string,
  cuts: readonly JournalCut[],
  own: readonly SegmentPlace[],
): ChainBreak | undefined {
  const there = new Set([...listSegments(archive), ...own.map(({ number }) => number)]);
  const [lost] = segmentsOf(cuts.filter(({ isArchived }) => isArchived)).filter(
    ({ file }) => !there.has(segmentNumber(file) ?? 0),
  );
  if (lost === undefined) return undefined;
  const message = `${lost.file} is not in the archive, and its signed checkpoint says that it was moved there`;
  return { kind: "missing-segment", auditId: "", message };
}

async function findAltered(
  archive: string,
  cuts: readonly JournalCut[],
): Promise<ChainBreak | undefined> {
  const archived = new Set(listSegments(archive).map(segmentName));
  for (const { file, sha256, bytes } of segmentsOf(cuts)) {
    if (!archived.has(file)) continue;
    const digest = await digestOf(join(archive, file));
    if (digest.sha256 === sha256 && digest.bytes === bytes) continue;
    const message = `${file} in the archive is not the segment that was signed with its cut`;
    return { kind: "altered-archive", auditId: "", message };
  }
  return undefined;
}

function segmentsOf(cuts: readonly JournalCut[]): readonly CutSegment[] {
  return cuts.flatMap(({ segments }) => segments);
}

/** Reads the whole file, since its digest is known only at its end. */
async function findHead(
  { directory, agentId }: ViewedJournal,
  { heads }: JournalCut,
): Promise<CutHead | undefined> {
  let found: CutHead | undefined;
  for await (const head of readCutHeads(directory, heads)) {
    if (head.agentId === agentId) found = head;
  }
  return found;
}

function findGap(through: number, first: number): ChainBreak | undefined {
  if (first <= through + 1) return undefined;
  const [from, to] = [segmentName(through + 1), segmentName(first - 1)];
  const which = from === to ? `${from} is` : `${from} and those up to ${to} are`;
  const message = `${which} missing, and no signed checkpoint names what was in them`;
  return { kind: "missing-segment", auditId: "", message };
}

function findHole(begin: CutHead | undefined): ChainBreak | undefined {
  const { missing } = begin ?? {};
  if (missing === undefined) return undefined;
  const message = `record ${missing} was missing already when the records around it were cut`;
  return { kind: "missing-record", auditId: missing, message };
}

function badCheckpoint(cut: JournalCut | undefined, reason: string): ChainBreak {
  const name = cut === undefined ? "" : ` ${cut.cutId}`;
  return { kind: "bad-checkpoint", auditId: "", message: `the checkpoint${name}: ${reason}` };
}
