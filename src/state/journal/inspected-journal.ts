/**
 * A read-only journal as it is on disk: each line by its current hash, the chain heads, and, for a missing record,
 * the altered line that probably replaced it. For a server that did not start because of its journal.
 * AGTP-IDENTIFIERS "Audit Log"
 */
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { openChainReader } from "../records/chain-reader.ts";
import { NO_AUDIT_ID } from "../records/record.ts";
import type { ChainHead } from "../records/record-store.ts";
import { verifyRecord } from "../records/verify-record.ts";
import { ArchivedRecords, type WhereCut } from "./archived-records.ts";
import { readLastCut } from "./cut-file.ts";
import { readCutHeads } from "./cut-heads.ts";
import type { JournalCut } from "./cut-record.ts";
import { isBefore, type JournalPosition, type RecordPlace, type RecordReader } from "./journal.ts";
import { readChainRecord } from "./journal-replay.ts";
import { RecordPlaces } from "./record-places.ts";
import { listSegments, readSegment } from "./segment.ts";

/** The journal, and the data to compare it with. */
interface InspectionOptions {
  readonly directory: string;
  /** The heads known to the store. */
  readonly heads: ReadonlyMap<string, ChainHead>;
  /** Undefined: records are unsigned, so that alterations cannot be detected. */
  readonly publicKey: Ed25519PublicKey | undefined;
}

/** A line that no record names as its predecessor, with an invalid signature. */
interface AlteredLine extends JournalPosition {
  readonly jws: string;
  /** Undefined if the line does not name its agent. */
  readonly agentId: string | undefined;
}

interface NamedBy extends JournalPosition {
  readonly agentId: string;
}

/** The most altered lines kept. */
const MAX_ALTERED = 1_000;

export class InspectedJournal {
  readonly #directory: string;
  readonly #found: Found;
  readonly #heads: ReadonlyMap<string, ChainHead>;
  readonly #archived: ArchivedRecords;

  private constructor(
    directory: string,
    found: Found,
    heads: ReadonlyMap<string, ChainHead>,
    cut: JournalCut | undefined,
  ) {
    this.#directory = directory;
    this.#archived = new ArchivedRecords(({ heads: file }) => readCutHeads(directory, file));
    this.#archived.follow(cut, undefined);
    this.#found = found;
    this.#heads = heads;
  }

  /** Reads the whole journal, twice. */
  static async open(options: InspectionOptions): Promise<InspectedJournal> {
    const { directory } = options;
    const found = await readLines(options);
    const has = (auditId: string): boolean => findPlace(found.places, auditId) !== undefined;
    const heads = headsOf(found.heads, options.heads, has);
    return new InspectedJournal(directory, found, heads, await readLastCut(directory));
  }

  headOf(agentId: string): ChainHead | undefined {
    return this.#heads.get(agentId);
  }

  /** Returns the head of a chain, which does not change since nobody writes. */
  currentHeadOf(agentId: string): Promise<ChainHead | undefined> {
    return Promise.resolve(this.headOf(agentId));
  }

  currentHeadsOf(agentIds: readonly string[]): Promise<ReadonlyMap<string, ChainHead>> {
    const heads = agentIds.map((agentId) => [agentId, this.headOf(agentId)] as const);
    return Promise.resolve(
      new Map(heads.filter((entry): entry is [string, ChainHead] => entry[1] !== undefined)),
    );
  }

  /** Returns where retention moved a record; archives are not searched. */
  whereCut(auditId: string): Promise<WhereCut | undefined> {
    return this.#archived.find(auditId);
  }

  /** The agents with a chain. */
  get agentIds(): readonly string[] {
    return [...this.#heads.keys()];
  }

  /** Returns a reader of records, or of the altered line in a record's place; undefined if there is neither. */
  openReader(): RecordReader {
    const reader = openChainReader(this.#directory, async (auditId) => {
      return findPlace(this.#found.places, auditId) ?? placeOf(this.#alteredFor(auditId));
    });
    return {
      ...reader,
      find: async (auditId) => (await reader.find(auditId)) ?? this.#alteredFor(auditId)?.jws,
    };
  }

  /** Returns the nearest altered line before the record that names it; for a head, the last one. */
  #alteredFor(auditId: string): AlteredLine | undefined {
    const head = [...this.#heads].find(([, one]) => one.auditId === auditId);
    const { altered, missing } = this.#found;
    const namedBy = missing.get(auditId);
    const agentId = namedBy?.agentId ?? head?.[0];
    if (agentId === undefined) return undefined;
    const before = altered.filter((line) => namedBy === undefined || isBefore(line, namedBy));
    const own = before.findLast((line) => line.agentId === agentId);
    return own ?? before.findLast((line) => line.agentId === undefined);
  }
}

function placeOf(line: AlteredLine | undefined): RecordPlace | undefined {
  return line && { segment: line.segment, offset: line.offset, length: line.jws.length };
}

interface Found {
  readonly places: ReadonlyMap<number, RecordPlaces>;
  readonly heads: ReadonlyMap<string, ChainHead>;
  readonly altered: readonly AlteredLine[];
  /** By missing record, the record that names it. */
  readonly missing: ReadonlyMap<string, NamedBy>;
}

async function readLines({ directory, publicKey }: InspectionOptions): Promise<Found> {
  const places = new Map<number, RecordPlaces>();
  const heads = new Map<string, ChainHead>();
  const named = new Map<string, NamedBy>();
  // Consecutive records of a chain resolve these, so few are unresolved at a time.
  const missing = new Map<string, NamedBy>();
  const unnamed = new Map<string, AlteredLine>();
  for (const segment of listSegments(directory)) {
    const records = new RecordPlaces();
    places.set(segment, records);
    for await (const { jws, auditId, offset, length } of readSegment(directory, segment)) {
      records.add([{ jws, auditId }], offset);
      const record = readChainRecord(jws);
      unnamed.set(auditId, { segment, offset, jws, agentId: record?.agentId });
      if (record === undefined) continue;
      const { agentId, at, method, previous } = record;
      heads.set(agentId, { auditId, at, method, place: { segment, offset, length } });
      if (previous === NO_AUDIT_ID || unnamed.delete(previous)) continue;
      if (named.has(previous)) continue;
      missing.set(previous, { agentId, segment, offset });
    }
  }
  for (const auditId of [...missing.keys()]) {
    if (findPlace(places, auditId) !== undefined) missing.delete(auditId);
  }
  const altered = [...unnamed.values()].filter(({ jws }) => isAltered(jws, publicKey));
  return { places, heads, altered: altered.slice(-MAX_ALTERED), missing };
}

function isAltered(jws: string, publicKey: Ed25519PublicKey | undefined): boolean {
  const { kind } = verifyRecord(jws, publicKey === undefined ? [] : [publicKey]);
  return kind === "bad-signature" || kind === "malformed-record";
}

function findPlace(places: Found["places"], auditId: string) {
  for (const [segment, records] of places) {
    const extent = records.find(auditId);
    if (extent !== undefined) return { segment, ...extent };
  }
  return undefined;
}

/** Returns the heads; the store's counts if the journal lacks that record and has no later one. */
function headsOf(
  read: ReadonlyMap<string, ChainHead>,
  known: ReadonlyMap<string, ChainHead>,
  has: (auditId: string) => boolean,
): ReadonlyMap<string, ChainHead> {
  const heads = new Map(read);
  for (const [agentId, head] of known) {
    const last = read.get(agentId);
    const isLater = last !== undefined && last.at > head.at;
    if (!has(head.auditId) && !isLater) heads.set(agentId, head);
  }
  return heads;
}
