/**
 * Verifies an agent's chain in the browser, from its head to the first record ever: hashes, signatures under the
 * pinned keys, agent names, links and times. The rules are those of `agtp-keys verify --chain`. The daemon's
 * statements about a record are never taken as proof.
 */
import type { ChainPage } from "../../answers.ts";
import {
  ALGORITHMS,
  candidatesFor,
  type DecodedRecord,
  type Examined,
  examine,
  type ImportedKey,
  importKey,
} from "./examine-record.ts";
import type { PinnedKey } from "./keys.ts";

/** A record that this browser has seen in a chain. */
export interface SeenRecord {
  readonly auditId: string;
  readonly issuedAt: string;
}

interface ChainSource {
  readonly agentId: string;
  readonly keys: readonly PinnedKey[];
  readonly trustedHead?: SeenRecord | undefined;
  /** Fetches a page of records, from this one back; from the head if undefined. */
  fetch(from: string | undefined): Promise<ChainPage>;
  /** Called after each page. */
  onProgress?(records: number): void;
}

export interface ChainReport {
  /** The number of valid records. */
  readonly records: number;
  readonly head: string | null;
  /** The newest record, if it was valid. */
  readonly newest?: SeenRecord | undefined;
  readonly broken: { readonly auditId: string; readonly reason: string } | undefined;
  /** The record at which the walk ended, since retention removed it according to the daemon. */
  readonly cut?: string | undefined;
}

interface Walk {
  readonly source: ChainSource;
  readonly keys: readonly ImportedKey[];
  records: number;
  /** The Audit-ID that the next record must have. */
  wanted: string;
  newest: SeenRecord | undefined;
  newer: SeenRecord | undefined;
  isTrusted: boolean;
  cut: string | undefined;
}

const NO_AUDIT_ID = "0".repeat(64);
const AUDIT_ID = /^[0-9a-f]{64}$/;

/** Describes a report in a sentence. */
export function reportText({ records, broken, cut }: ChainReport): string {
  if (broken === undefined && cut !== undefined) {
    return `Chain verified: ${records} records; those before were taken away, as the daemon says`;
  }
  if (broken === undefined) return `Chain verified: ${records} records`;
  return `Chain broken at ${broken.auditId}: ${broken.reason}`;
}

/** Verifies a chain. Rejects only if the daemon cannot be reached, or the browser lacks Ed25519. */
export async function verifyChain(source: ChainSource): Promise<ChainReport> {
  const first = await source.fetch(undefined);
  const { head } = first;
  const { trustedHead } = source;
  if (head === null) return { records: 0, head, broken: truncation(trustedHead) };
  const keys = await Promise.all(source.keys.map(importKey));
  const isTrusted = trustedHead === undefined;
  const walk: Walk = {
    source,
    keys,
    records: 0,
    wanted: head,
    newest: undefined,
    newer: undefined,
    isTrusted,
    cut: undefined,
  };
  const found = await walkPages(walk, first);
  const { records, newest, cut } = walk;
  return { records, head, newest, broken: found ?? truncationOf(walk), cut };
}

type ChainBreak = NonNullable<ChainReport["broken"]>;

async function walkPages(walk: Walk, first: ChainPage): Promise<ChainBreak | undefined> {
  for (let page = first; ; ) {
    const before = walk.records;
    // Fetched while this page is checked; the check decides which record it must begin with.
    const following = page.next === null ? undefined : walk.source.fetch(page.next);
    following?.catch(() => undefined);
    const fault = await walkPage(walk, page);
    walk.source.onProgress?.(walk.records);
    if (fault !== undefined || walk.wanted === NO_AUDIT_ID) return fault;
    if (page.broken?.audit_id === walk.wanted) return breakAt(walk.wanted, missing(walk));
    if (page.cut?.audit_id === walk.wanted) {
      walk.cut = walk.wanted;
      walk.isTrusted ||= isBeforeCut(walk);
      return undefined;
    }
    // A page without progress lacks the record that was asked for.
    if (walk.records === before) return breakAt(walk.wanted, missing(walk));
    const isNext = page.next === walk.wanted && following !== undefined;
    page = await (isNext ? following : walk.source.fetch(walk.wanted));
  }
}

async function walkPage(walk: Walk, page: ChainPage): Promise<ChainBreak | undefined> {
  // In parallel, since Web Crypto uses several threads.
  const examined = await Promise.all(page.records.map(({ jws }) => examine(walk.keys, jws)));
  for (const one of examined) {
    if (walk.wanted === NO_AUDIT_ID) return undefined;
    const reason = checkRecord(walk, one);
    if (reason !== undefined) return breakAt(walk.wanted, reason);
  }
  return undefined;
}

/** Checks the next record and moves on to its predecessor, or returns the reason why not. */
function checkRecord(walk: Walk, examined: Examined): string | undefined {
  const at = walk.wanted;
  const { hash, record } = examined;
  if (hash !== at) return `was altered, its hash is ${hash}`;
  if (record === undefined) return "is no compact JWS of a JSON object";
  const reason = signatureFault(walk, record, examined) ?? payloadFault(walk, record);
  if (reason !== undefined) return reason;
  const { previous_audit_id, issued_at } = record.payload;
  walk.records += 1;
  walk.isTrusted ||= at === walk.source.trustedHead?.auditId;
  walk.newer = { auditId: at, issuedAt: String(issued_at) };
  walk.newest ??= walk.newer;
  walk.wanted = String(previous_audit_id);
  return undefined;
}

/** Returns the fault of a record's signature; undefined if it is valid, or a newer record vouches for it. */
function signatureFault(walk: Walk, record: DecodedRecord, examined: Examined): string | undefined {
  const { alg, kid } = record.header;
  // RFC 7515 §4.1.11: an unknown critical member must not be ignored.
  if ("crit" in record.header) return "has a critical header member that is not understood";
  if (alg === "none") {
    if (record.signature.length > 0) return 'has a signature, though its alg is "none"';
    // Behind a signed record, each older one is vouched for by its hash.
    if (walk.newer !== undefined) return undefined;
    return "is the newest and not signed, so that no key vouches for it";
  }
  if (!ALGORITHMS.includes(alg)) return `has the alg ${JSON.stringify(alg)}, not "EdDSA"`;
  if (candidatesFor(record, walk.keys).length === 0) {
    return `is signed with a key that is not pinned in this browser, ${JSON.stringify(kid)}`;
  }
  return examined.isSigned ? undefined : "has a signature that does not verify";
}

function payloadFault({ source, newer }: Walk, { payload }: DecodedRecord): string | undefined {
  const { agent_id, previous_audit_id, issued_at } = payload;
  if (agent_id !== source.agentId) return `is of another agent, ${JSON.stringify(agent_id)}`;
  if (typeof previous_audit_id !== "string" || !AUDIT_ID.test(previous_audit_id)) {
    return "does not name the record before it";
  }
  if (typeof issued_at !== "string" || Number.isNaN(Date.parse(issued_at))) {
    return "does not say when it was issued";
  }
  if (newer !== undefined && Date.parse(issued_at) > Date.parse(newer.issuedAt)) {
    return `is from ${issued_at}, later than ${newer.issuedAt} of the one behind it, ${newer.auditId}`;
  }
  return undefined;
}

/** True if retention can have removed the remembered record, which is then older than every record that is left. */
function isBeforeCut({ source: { trustedHead }, newer, cut }: Walk): boolean {
  if (trustedHead === undefined || trustedHead.auditId === cut) return true;
  return newer !== undefined && Date.parse(trustedHead.issuedAt) < Date.parse(newer.issuedAt);
}

function truncationOf({ isTrusted, source }: Walk): ChainBreak | undefined {
  return isTrusted ? undefined : truncation(source.trustedHead);
}

/** Reports a chain that lacks a record which this browser has seen in it. */
function truncation(trustedHead: SeenRecord | undefined): ChainBreak | undefined {
  if (trustedHead === undefined) return undefined;
  return breakAt(trustedHead.auditId, "was in the chain and is not any more: the chain was cut");
}

function missing({ newer }: Walk): string {
  return newer === undefined
    ? "is missing, it is the head"
    : `is missing, record ${newer.auditId} names it`;
}

function breakAt(auditId: string, reason: string): ChainBreak {
  return { auditId, reason };
}
