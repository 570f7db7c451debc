/**
 * Repairs a journal that lost records, at an operator's explicit request. Each chain with losses continues after its
 * last remaining record, with a signed record that lists the lost ones. Lines that are not records are set aside,
 * not deleted.   AGTP-IDENTIFIERS "Audit Log"
 */

import { hash } from "node:crypto";
import { addUnder } from "../../base/listed.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import {
  forgottenHeads,
  type KnownChains,
  knownChainChanges,
  readKnownChains,
} from "../records/known-chains.ts";
import { NO_AUDIT_ID, recordPayload } from "../records/record.ts";
import type { ChainHead } from "../records/record-store.ts";
import type { RecordSigner } from "../records/sealer.ts";
import type { Store } from "../store.ts";
import { placeBehind, withCut } from "./cut-chains.ts";
import { readLastCut } from "./cut-file.ts";
import { readCutHeads } from "./cut-heads.ts";
import type { JournalCut } from "./cut-record.ts";
import { FileJournal } from "./file-journal.ts";
import { isBefore, type JournalPosition, type JournalRecord } from "./journal.ts";
import { compareJournal } from "./journal-comparison.ts";
import type { JournalDamage } from "./journal-damage.ts";
import { readChainRecord, replayJournal } from "./journal-replay.ts";
import { listSegments, readSegment, segmentName } from "./segment.ts";
import { copyStrayLines, type SetAside, takeStrayLinesOut } from "./set-aside.ts";

/** The journal to repair, and the signer of the repair. */
interface RepairOptions {
  readonly store: Store;
  readonly directory: string;
  readonly signer: RecordSigner;
  readonly serverId: string;
  /** The reason for accepting the loss, included in the records. */
  readonly reason: string | undefined;
  readonly now: number;
  /** A fault of the store that was repaired before it was opened. */
  readonly ofStore?: SetAside;
}

/** A chain that continues after the repair. */
interface RepairedChain {
  readonly agentId: string;
  /** The known lost records, newest last. */
  readonly lost: readonly string[];
  /** The last remaining record; undefined: the chain begins anew. */
  readonly follows: string | undefined;
  /** The record of the repair. */
  readonly auditId: string;
}

export interface RepairReport {
  readonly damages: readonly JournalDamage[];
  readonly chains: readonly RepairedChain[];
  /** Copies of the original segments from which lines were removed. */
  readonly setAside: readonly string[];
}

/**
 * Repairs the journal of a directory without a running daemon; an intact one is unchanged. The repair's records are
 * written before a line is removed, and the store never refers to a place that moves: an interrupted repair can
 * simply be run again.
 */
export async function repairJournal(options: RepairOptions): Promise<RepairReport> {
  const { store, directory, now } = options;
  const { known } = await withCut(directory, await readKnownChains(store));
  const { damages: missing } = await compareJournal(directory, known);
  const ofStore = options.ofStore ?? { damages: [], copies: [] };
  const { damages: stray, copies: segments } = await copyStrayLines(directory, now);
  const copies = [...ofStore.copies, ...segments];
  const altered = new Set(stray.map(({ file }) => file));
  const { segment, offset } = known.checkpoint ?? { segment: 1, offset: 0 };
  const onFault = (error: unknown): never => {
    throw error;
  };
  const journal = await FileJournal.open({ directory, firstSegment: segment, onFault });
  try {
    const isMoved = stray.length > 0 || missing.some(({ kind }) => kind === "moved-record");
    const from = { segment, offset: isMoved ? 0 : offset };
    const heads = isMoved ? new Map<string, ChainHead>() : known.heads;
    const { damages: found } = await replayJournal(journal, from, heads, Infinity);
    const taken = found.filter(({ kind }) => kind !== "no-record");
    const damages = [...ofStore.damages, ...missing, ...stray, ...taken];
    if (damages.length === 0) return { damages, chains: [], setAside: [] };
    const left = await findHeads(directory, known);
    const { position } = journal;
    const chains = recordLosses(journal, left, damages, copies, options);
    await journal.close();
    // The next start reads the new records like those of a killed daemon.
    const gone = [...known.heads.keys()].filter((agentId) => !left.has(agentId));
    const changes = knownChainChanges(unplaced(left, altered), startOf(position, altered));
    await store.commit([...changes, ...forgottenHeads(gone)]);
    if (altered.size > 0) {
      await takeStrayLinesOut(directory, altered);
      // Otherwise the next start would find the same losses before it reaches the records of their repair.
      const begun = await positionOf(directory, position, chains[0]?.auditId);
      await store.commit(knownChainChanges(await findHeads(directory, known, begun), begun));
    }
    return { damages, chains, setAside: copies };
  } finally {
    await journal.close();
  }
}

/** Returns the heads without places that move; the next start finds those. */
function unplaced(
  heads: ReadonlyMap<string, ChainHead>,
  altered: ReadonlySet<string>,
): ReadonlyMap<string, ChainHead> {
  const moves = ({ place }: ChainHead): boolean =>
    place !== undefined && altered.has(segmentName(place.segment));
  return new Map(
    [...heads].map(([id, head]) => [id, moves(head) ? { ...head, place: undefined } : head]),
  );
}

/** Returns where the next start begins to read; an altered segment is read entirely. */
function startOf(position: JournalPosition, altered: ReadonlySet<string>): JournalPosition {
  const { segment } = position;
  return altered.has(segmentName(segment)) ? { segment, offset: 0 } : position;
}

/** Returns the position of a record in a segment, or the segment's end if it is not there. */
async function positionOf(
  directory: string,
  { segment }: JournalPosition,
  wanted: string | undefined,
): Promise<JournalPosition> {
  let end = 0;
  for await (const { auditId, offset, length } of readSegment(directory, segment)) {
    if (auditId === wanted) return { segment, offset };
    end = offset + length + 1;
  }
  return { segment, offset: end };
}

/**
 * Returns each chain's head before a position; for a chain with nothing left, its head at the last cut, or in
 * segments removed by hand.
 */
async function findHeads(
  directory: string,
  known: KnownChains,
  until: JournalPosition = { segment: Number.POSITIVE_INFINITY, offset: 0 },
): Promise<ReadonlyMap<string, ChainHead>> {
  const cut = await readLastCut(directory);
  const segments = listSegments(directory).filter((number) => number > (cut?.through ?? 0));
  const oldest = segments[0] ?? 1;
  const heads = new Map(
    [...known.heads].filter(([, { place }]) => (place?.segment ?? oldest) < oldest),
  );
  for (const [agentId, head] of await readEnds(directory, cut)) heads.set(agentId, head);
  for (const segment of segments) {
    for await (const { auditId, jws, offset, length } of readSegment(directory, segment)) {
      const record = readChainRecord(jws);
      if (record === undefined || !isBefore({ segment, offset }, until)) continue;
      const { agentId, at, method } = record;
      heads.set(agentId, { auditId, at, method, place: { segment, offset, length } });
    }
  }
  return heads;
}

/** Returns the chain heads of a cut; a file other than the signed one is left for verification to report. */
async function readEnds(
  directory: string,
  cut: JournalCut | undefined,
): Promise<ReadonlyMap<string, ChainHead>> {
  const ends = new Map<string, ChainHead>();
  if (cut === undefined) return ends;
  const place = placeBehind(directory, cut);
  try {
    for await (const { agentId, auditId, at, method } of readCutHeads(directory, cut.heads)) {
      ends.set(agentId, { auditId, at, method, place });
    }
  } catch {
    return new Map();
  }
  return ends;
}

function recordLosses(
  journal: FileJournal,
  left: ReadonlyMap<string, ChainHead>,
  damages: readonly JournalDamage[],
  copies: readonly string[],
  options: RepairOptions,
): readonly RepairedChain[] {
  const lost = new Map<string, string[]>();
  for (const damage of damages) {
    if (damage.kind === "lost-record") addUnder(lost, damage.agentId, damage.auditId);
    // The replay may have found which record before it is missing.
    if (damage.kind === "moved-record" && !lost.has(damage.agentId)) lost.set(damage.agentId, []);
  }
  const newest = newestOf(left);
  // A loss in no known chain is recorded in the chain written last.
  if (lost.size === 0 && newest !== undefined) lost.set(newest, []);
  const chains: RepairedChain[] = [];
  for (const [agentId, ids] of lost) {
    const head = left.get(agentId);
    const record = makeRecord(agentId, head, { ids, copies, damages }, options);
    journal.write([record]);
    chains.push({ agentId, lost: ids, follows: head?.auditId, auditId: record.auditId });
  }
  return chains;
}

interface Loss {
  readonly ids: readonly string[];
  readonly copies: readonly string[];
  readonly damages: readonly JournalDamage[];
}

/** The most entries that a record lists. */
const MAX_NAMED = 100;

function makeRecord(
  agentId: string,
  head: ChainHead | undefined,
  { ids, copies, damages }: Loss,
  { signer, serverId, reason, now }: RepairOptions,
): JournalRecord {
  const isOfStore = ({ kind }: JournalDamage): boolean => kind === "lost-commits";
  const segments = damages.filter((damage) => !isOfStore(damage)).map(({ file }) => file);
  const extension = {
    event_type: "chain-repaired",
    lost_records: ids.slice(-MAX_NAMED),
    damaged_segments: [...new Set(segments)].slice(0, MAX_NAMED),
    ...(damages.some(isOfStore) ? { damaged_store: true } : {}),
    ...(copies.length === 0 ? {} : { set_aside: copies.slice(0, MAX_NAMED) }),
    ...(reason === undefined ? {} : { reason }),
  };
  const facts = {
    ...{ agentId, ownerId: "", requestId: "", responseId: uuidv7(), actionId: uuidv7() },
    ...{ method: "REPAIR", requestedMethod: undefined, path: "/", status: 200 },
    ...{ sessionId: undefined, taskId: undefined, principalId: undefined },
    ...{ assurance: "unverified" as const, requestBody: "", responseBody: "", extension },
  };
  const { before, after } = recordPayload(facts, serverId, Math.max(now, head?.at ?? now));
  const jws = signer.sign(before + (head?.auditId ?? NO_AUDIT_ID) + after);
  return { auditId: hash("sha256", jws), jws };
}

function newestOf(heads: ReadonlyMap<string, ChainHead>): string | undefined {
  const rank = ({ place }: ChainHead): number =>
    (place?.segment ?? 0) * 2 ** 32 + (place?.offset ?? 0);
  let newest: readonly [string, ChainHead] | undefined;
  for (const entry of heads) {
    if (newest === undefined || rank(entry[1]) > rank(newest[1])) newest = entry;
  }
  return newest?.[0];
}
