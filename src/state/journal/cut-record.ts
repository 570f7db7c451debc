/**
 * The signed checkpoint of a cut: the removed segments with their digests, and the digest of the file with the chain
 * heads. One line of `cuts.jws` each, naming its predecessor.   AGTP-IDENTIFIERS "Audit Log"
 */

import { hash } from "node:crypto";
import { isSha256 } from "../../identity/identifiers.ts";
import { decodeJws } from "../../identity/jws.ts";
import { NO_AUDIT_ID } from "../records/record.ts";
import type { RecordSigner } from "../records/sealer.ts";
import { recordReader } from "../records/stored-record.ts";
import { segmentName, segmentNumber } from "./segment.ts";

/** A removed segment. */
export interface CutSegment {
  readonly file: string;
  readonly bytes: number;
  readonly records: number;
  /** SHA-256 of the whole file, 64 lower-case hex digits. */
  readonly sha256: string;
}

export interface CutHeadsFile {
  readonly file: string;
  readonly sha256: string;
  readonly chains: number;
}

interface CutFacts {
  readonly serverId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly segments: readonly CutSegment[];
  readonly heads: CutHeadsFile;
  /** True if the segments were archived, false if they were deleted. */
  readonly isArchived: boolean;
  /** The id of the previous cut; 64 zeros for the first. */
  readonly previous: string;
}

export interface JournalCut extends CutFacts {
  /** SHA-256 of the line. */
  readonly cutId: string;
  readonly jws: string;
  /** The number of the last segment removed. */
  readonly through: number;
}

const EVENT = "journal-cut";

/**
 * Signs a cut that follows another.
 * @throws if it does not follow
 */
export function signAfter(
  before: JournalCut | undefined,
  { serverId, at, segments, heads, isArchived }: Omit<CutFacts, "previous">,
  signer: Pick<RecordSigner, "sign">,
): JournalCut {
  const previous = before?.cutId ?? NO_AUDIT_ID;
  const payload = {
    ...{ event_type: EVENT, cut_version: "1", server_id: serverId, previous_cut: previous },
    ...{ issued_at: new Date(at).toISOString(), is_archived: isArchived, segments, heads },
  };
  const cut = readCut(signer.sign(JSON.stringify(payload)));
  const fault = cut === undefined ? "cannot be read back" : findCutFault(cut, before);
  if (cut === undefined || fault !== undefined) throw new Error(`the checkpoint ${fault}`);
  return cut;
}

/** Reads the line of a cut; undefined if invalid. The signature is not checked. */
export function readCut(jws: string): JournalCut | undefined {
  const payload = decodeJws(jws)?.payload;
  if (payload?.["event_type"] !== EVENT || payload["cut_version"] !== "1") return undefined;
  const { server_id: serverId, issued_at: issuedAt, previous_cut: previous } = payload;
  const { segments, heads, is_archived: isArchived } = payload;
  const at = typeof issuedAt === "string" ? Date.parse(issuedAt) : Number.NaN;
  if (typeof serverId !== "string" || Number.isNaN(at)) return undefined;
  if (typeof previous !== "string" || !isSha256(previous)) return undefined;
  if (!Array.isArray(segments) || !segments.every(isSegment)) return undefined;
  const through = segmentNumber(segments.at(-1)?.file ?? "");
  if (through === undefined || !isHeadsFile(heads)) return undefined;
  const facts = { serverId, at, segments, heads, isArchived: isArchived === true, previous };
  return { ...facts, through, jws, cutId: hash("sha256", jws) };
}

/** Returns why a cut does not follow another, as the end of a sentence; undefined if it does. */
export function findCutFault(cut: JournalCut, before: JournalCut | undefined): string | undefined {
  if (cut.previous !== (before?.cutId ?? NO_AUDIT_ID)) return "does not follow the one before it";
  let next = before === undefined ? segmentNumber(cut.segments[0]?.file ?? "") : before.through + 1;
  for (const { file } of cut.segments) {
    if (next === undefined || file !== segmentName(next)) return `passes over a segment at ${file}`;
    next += 1;
  }
  return undefined;
}

const segmentOf = recordReader<CutSegment>({
  ...{ file: "string", bytes: "number", records: "number", sha256: "string" },
});
const headsFileOf = recordReader<CutHeadsFile>({
  ...{ file: "string", sha256: "string", chains: "number" },
});

function isSegment(value: unknown): value is CutSegment {
  const { file, sha256 } = segmentOf(value) ?? {};
  return segmentNumber(file ?? "") !== undefined && isSha256(sha256 ?? "");
}

function isHeadsFile(value: unknown): value is CutHeadsFile {
  return /^\d{8}\.heads$/.test(headsFileOf(value)?.file ?? "");
}
