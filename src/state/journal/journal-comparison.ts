/**
 * Compares a journal, read-only, with what the store knows of it, the chain heads and the last checkpoint's
 * position, and with the record synced last. Retention may have removed the oldest segments; nothing after a
 * remaining one may be missing.   AGTP-IDENTIFIERS "Audit Log"
 */
import { hash } from "node:crypto";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { OctetLines } from "../../base/line-reader.ts";
import { codeOf } from "../../base/thrown.ts";
import type { KnownChains } from "../records/known-chains.ts";
import type { ChainHead } from "../records/record-store.ts";
import type { RecordPlace } from "./journal.ts";
import type { JournalDamage } from "./journal-damage.ts";
import { readSyncedMark } from "./journal-sync.ts";
import { LINE_FEED, MAX_LINE, readSegment, segmentName, segmentsIn } from "./segment.ts";

interface JournalComparison {
  readonly damages: readonly JournalDamage[];
  readonly heads: ReadonlyMap<string, ChainHead>;
  /** The agents whose heads had no place in the store. */
  readonly placed: Iterable<string>;
}

/** Compares the journal of a directory; a missing one has no records. */
export async function compareJournal(
  directory: string,
  known: KnownChains,
): Promise<JournalComparison> {
  const placed = await findPlaces(directory, segmentsIn(directory), known.heads);
  const heads = new Map(
    [...known.heads].map(([id, head]) => [id, { ...head, place: head.place ?? placed.get(id) }]),
  );
  return { damages: findLosses(directory, { ...known, heads }), heads, placed: placed.keys() };
}

/** Finds records that a journal lacks. Heads stored by an earlier build lack places, which must be filled in before. */
export function findLosses(
  directory: string,
  { checkpoint, heads }: KnownChains,
): readonly JournalDamage[] {
  const segments = segmentsIn(directory);
  const damages: JournalDamage[] = [];
  using reader = new RecordReader(directory);
  const look = (
    agentId: string,
    { auditId, place }: Pick<ChainHead, "auditId" | "place">,
  ): void => {
    if (wasTakenAway(place, segments)) return;
    if (place !== undefined && reader.has(auditId, place)) return;
    // A running daemon may have removed it meanwhile.
    if (wasTakenAway(place, segmentsIn(directory))) return;
    const file = segmentName(place?.segment ?? checkpoint?.segment ?? 1);
    const isThere = place !== undefined && reader.holds(auditId, place);
    damages.push({ kind: isThere ? "moved-record" : "lost-record", agentId, auditId, file });
  };
  for (const [agentId, head] of bySegment(heads)) look(agentId, head);
  const synced = readSyncedMark(directory);
  if (damages.length === 0 && synced !== undefined) look(synced.agentId, synced);
  if (damages.length === 0 && checkpoint !== undefined) {
    const { segment, offset } = checkpoint;
    const isLost = sizeOf(directory, segment) < offset;
    if (isLost) damages.push({ kind: "lost-tail", file: segmentName(segment), octets: offset });
  }
  return damages;
}

/** Finds the places of heads stored by an earlier build. */
async function findPlaces(
  directory: string,
  segments: readonly number[],
  heads: ReadonlyMap<string, ChainHead>,
): Promise<ReadonlyMap<string, RecordPlace>> {
  const placed = new Map<string, RecordPlace>();
  const wanted = new Map<string, string>();
  for (const [agentId, { auditId, place }] of heads) {
    if (place === undefined) wanted.set(auditId, agentId);
  }
  for (const segment of wanted.size === 0 ? [] : segments.toReversed()) {
    for await (const { auditId, offset, length } of readSegment(directory, segment)) {
      const agentId = wanted.get(auditId);
      if (agentId !== undefined) placed.set(agentId, { segment, offset, length });
    }
    if (placed.size === wanted.size) break;
  }
  return placed;
}

/** Sorts heads by segment, so that each segment is opened once. */
function bySegment(
  heads: ReadonlyMap<string, ChainHead>,
): readonly (readonly [string, ChainHead])[] {
  const segmentOf = ({ place }: ChainHead): number => place?.segment ?? 0;
  return [...heads].toSorted(([, left], [, right]) => segmentOf(left) - segmentOf(right));
}

/** A head without a place that is not found may have been removed with the oldest segments. */
function wasTakenAway(place: RecordPlace | undefined, segments: readonly number[]): boolean {
  const [oldest] = segments;
  return oldest !== undefined && oldest > (place?.segment ?? 1);
}

function sizeOf(directory: string, segment: number): number {
  const path = join(directory, segmentName(segment));
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Reads single records, segment by segment. */
class RecordReader implements Disposable {
  readonly #directory: string;
  #segment = 0;
  #file: number | undefined;
  /** The Audit-IDs of the open segment, read on demand. */
  #held: ReadonlySet<string> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  has(auditId: string, { segment, offset, length }: RecordPlace): boolean {
    if (segment !== this.#segment) this.#open(segment);
    if (this.#file === undefined) return false;
    // Without its line feed it would be cut off as a partial record.
    const octets = Buffer.alloc(length + 1);
    const count = readSync(this.#file, octets, 0, octets.length, offset);
    if (count !== octets.length || octets[length] !== LINE_FEED) return false;
    return hash("sha256", octets.subarray(0, length)) === auditId;
  }

  /** True if a segment has a record, at any offset. */
  holds(auditId: string, { segment }: RecordPlace): boolean {
    if (segment !== this.#segment) this.#open(segment);
    if (this.#file === undefined) return false;
    this.#held ??= auditIdsIn(this.#file);
    return this.#held.has(auditId);
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #open(segment: number): void {
    this[Symbol.dispose]();
    this.#segment = segment;
    this.#held = undefined;
    try {
      this.#file = openSync(join(this.#directory, segmentName(segment)), "r");
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
    }
  }
}

const CHUNK = 64 * 1024;
const TOO_LONG = new Error("a line is longer than any record");

/** Returns the digests of the lines of an open segment, up to one that is too long for a record. */
function auditIdsIn(file: number): ReadonlySet<string> {
  const found = new Set<string>();
  const lines = new OctetLines(MAX_LINE, () => TOO_LONG);
  const chunk = Buffer.alloc(CHUNK);
  try {
    for (let at = 0; ; ) {
      const count = readSync(file, chunk, 0, CHUNK, at);
      if (count === 0) return found;
      at += count;
      for (const line of lines.take(chunk.subarray(0, count))) found.add(hash("sha256", line));
    }
  } catch (error) {
    if (error !== TOO_LONG) throw error;
    return found;
  }
}
