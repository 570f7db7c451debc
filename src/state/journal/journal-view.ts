/**
 * A journal as it is verified: the segments that are there, in its own directory and in an archive, and
 * where the chain of an agent begins in them. A segment that no signed checkpoint names as taken away
 * is missing.   AGTP-IDENTIFIERS "Audit Log"
 */
import { join } from "node:path";
import { reasonOf } from "../../base/thrown.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import type { ChainBreak, CheckedChain } from "../records/verify-chain.ts";
import { verifyRecord } from "../records/verify-record.ts";
import { readCutLines } from "./cut-file.ts";
import { type CutHead, readCutHeads } from "./cut-heads.ts";
import { type CutSegment, findCutFault, type JournalCut, readCut } from "./cut-record.ts";
import { digestOf } from "./cut-survey.ts";
import { listSegments, type SegmentPlace, segmentName, segmentNumber } from "./segment.ts";

/** A journal to look into. */
export interface ViewedJournal extends Pick<CheckedChain, "agentId" | "keys"> {
  readonly directory: string;
  /** Where segments were moved to. */
  readonly archive?: string | undefined;
}

/** The part of a journal that can be read. */
interface JournalView {
  /** In order. */
  readonly segments: readonly SegmentPlace[];
  /** The last cut; undefined where nothing was cut. */
  readonly cut: JournalCut | undefined;
  /** Where the chain stood at the last cut; undefined where it is read from its first record on. */
  readonly begin: CutHead | undefined;
  readonly fault: ChainBreak | undefined;
}

/** Opens a journal; an archive that lacks what was never moved to it is left out. Nothing is written. */
export async function openJournalView(journal: ViewedJournal): Promise<JournalView> {
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

/** All cuts up to the first that does not hold. */
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

/** The segments that were cut, where every one of them is at hand; undefined otherwise. */
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
  // One that stands before the first cut was taken away by hand.
  return found[0]?.number === 1 ? found : undefined;
}

/** A segment that is neither in the archive that it was moved to nor still on its way there. */
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

/** The whole file is read: its digest is known at its end. */
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
