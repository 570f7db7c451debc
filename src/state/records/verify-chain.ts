/**
 * Walks an agent's chain from its head to the first record, and reports where it breaks. Each record is fetched by
 * its Audit-ID, so that any source will do, and none can substitute a record.   AGTP-IDENTIFIERS "Attribution Chain"
 */

import { hash } from "node:crypto";
import { type JsonRecord, quoteValue } from "../../base/json-value.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { isSha256 } from "../../identity/identifiers.ts";
import { NO_AUDIT_ID } from "./record.ts";
import { type RecordVerdict, verifyRecord } from "./verify-record.ts";

/** A chain, with the means to check it. */
export interface CheckedChain {
  readonly agentId: string;
  /** The keys that verify signatures; without any, signatures are not checked. */
  readonly keys: readonly Ed25519PublicKey[];
  /** The Audit-ID of a record known to have been in the chain. */
  readonly trustedHead?: string | undefined;
  /** The predecessor of the oldest remaining record, if older ones were removed. */
  readonly begin?: string | undefined;
  /** Checks the claims of a payload whose signature is valid. */
  readonly judge?: JudgePayload | undefined;
}

interface ChainSource extends CheckedChain {
  /** The Audit-ID of the newest record. */
  readonly head: string;
  /** Returns the compact JWS of a record; undefined if there is none. */
  fetch(auditId: string): Promise<string | undefined>;
}

/** Returns a fault, worded as the end of a break's message; undefined if there is none. */
export type JudgePayload = (payload: JsonRecord) => string | undefined;

/** A record in a report; strings are the record's own. */
export interface ChainRecord {
  readonly auditId: string;
  readonly issuedAt: string;
  readonly method: string;
  readonly path: string;
  readonly status: number | undefined;
}

type ChainBreakKind =
  | "missing-record"
  | "hash-mismatch"
  | "malformed-record"
  | "bad-signature"
  | "unknown-key"
  | "unsigned-head"
  | "wrong-agent"
  | "false-passkey"
  | "time-reversed"
  | "truncated"
  | "fork"
  | "bad-checkpoint"
  | "missing-segment"
  | "altered-archive";

/** The first place where a chain is broken. */
export interface ChainBreak {
  readonly kind: ChainBreakKind;
  /** The record concerned. */
  readonly auditId: string;
  /** Lower case, no full stop. */
  readonly message: string;
}

/** The result of a walk, up to the break if there is one. */
export interface ChainReport {
  readonly agentId: string;
  readonly head: string;
  /** The number of valid records. */
  readonly records: number;
  /** The oldest valid record. */
  readonly first: ChainRecord | undefined;
  /** The newest valid record. */
  readonly last: ChainRecord | undefined;
  /** Valid records whose signature was verified, is absent, or was not checked. */
  readonly verified: number;
  readonly unsigned: number;
  readonly unchecked: number;
  readonly broken: ChainBreak | undefined;
}

/** Walks a chain. Rejects only if `fetch` does. */
export async function verifyChain(source: ChainSource): Promise<ChainReport> {
  const { agentId, head } = source;
  const counts = { verified: 0, unsigned: 0, unchecked: 0 };
  let first: ChainRecord | undefined;
  let last: ChainRecord | undefined;
  let records = 0;
  let broken: ChainBreak | undefined;
  const isOver = (auditId: string): boolean => auditId === NO_AUDIT_ID || auditId === source.begin;
  let isTrusted = source.trustedHead === undefined || source.trustedHead === source.begin;
  for (let wanted = head; !isOver(wanted); ) {
    const step = checkStep(source, wanted, await source.fetch(wanted), first);
    if ("message" in step) {
      broken = step;
      break;
    }
    isTrusted ||= wanted === source.trustedHead;
    records += 1;
    counts[step.signature] += 1;
    first = step.record;
    last ??= first;
    wanted = step.previous;
  }
  if (!isTrusted) broken ??= truncation(source.trustedHead, head);
  return { agentId, head, records, first, last, ...counts, broken };
}

/** Returns the break of a chain that ends before a record known to have been in it. */
export function truncation(trustedHead = "", head?: string): ChainBreak {
  const end = head === undefined ? "nothing is left of it" : `it ends with record ${head}`;
  const message = `was in the chain and is not any more: the chain was cut, ${end}`;
  return breakAt(trustedHead, "truncated", message);
}

interface ChainStep {
  readonly record: ChainRecord;
  readonly signature: "verified" | "unsigned" | "unchecked";
  readonly previous: string;
}

/** Checks one record; `newer` is the one that names it, undefined for the head. */
function checkStep(
  { agentId, keys, judge }: ChainSource,
  auditId: string,
  jws: string | undefined,
  newer: ChainRecord | undefined,
): ChainStep | ChainBreak {
  if (jws === undefined) {
    const named = newer === undefined ? "it is the head" : `record ${newer.auditId} names it`;
    return breakAt(auditId, "missing-record", `is missing, ${named}`);
  }
  const actual = hash("sha256", jws);
  if (actual !== auditId)
    return breakAt(auditId, "hash-mismatch", `was altered, its hash is ${actual}`);
  const verdict = verifyRecord(jws, keys);
  if ("fault" in verdict) return breakAt(auditId, verdict.kind, verdict.fault);
  if (verdict.kind === "unsigned" && keys.length > 0 && newer === undefined) {
    // After a signed record, each older one is vouched for by its hash.
    return breakAt(
      auditId,
      "unsigned-head",
      "is the newest and not signed, so that no key vouches for it",
    );
  }
  const falsehood = judge?.(verdict.payload);
  if (falsehood !== undefined) return breakAt(auditId, "false-passkey", falsehood);
  return checkPayload(agentId, auditId, verdict, newer);
}

function checkPayload(
  agentId: string,
  auditId: string,
  { kind: signature, payload }: Exclude<RecordVerdict, { readonly fault: string }>,
  newer: ChainRecord | undefined,
): ChainStep | ChainBreak {
  if (payload["agent_id"] !== agentId) {
    return breakAt(
      auditId,
      "wrong-agent",
      `is of another agent, ${quoteValue(payload["agent_id"])}`,
    );
  }
  const previous = payload["previous_audit_id"];
  if (typeof previous !== "string" || !isSha256(previous)) {
    return breakAt(auditId, "malformed-record", "does not name the record before it");
  }
  const issuedAt = payload["issued_at"];
  if (typeof issuedAt !== "string" || Number.isNaN(Date.parse(issuedAt))) {
    return breakAt(auditId, "malformed-record", "does not say when it was issued");
  }
  if (newer !== undefined && Date.parse(issuedAt) > Date.parse(newer.issuedAt)) {
    const later = `is from ${issuedAt}, later than ${newer.issuedAt}`;
    return breakAt(auditId, "time-reversed", `${later} of the one behind it, ${newer.auditId}`);
  }
  return { record: describeRecord(auditId, issuedAt, payload), signature, previous };
}

/** Describes a record for a report. */
export function describeRecord(
  auditId: string,
  issuedAt: string,
  payload: JsonRecord,
): ChainRecord {
  const { method, path, status } = payload;
  return {
    auditId,
    issuedAt,
    method: typeof method === "string" ? method : "",
    path: typeof path === "string" ? path : "",
    status: typeof status === "number" ? status : undefined,
  };
}

/** The message continues a sentence that begins with the record. */
function breakAt(auditId: string, kind: ChainBreakKind, message: string): ChainBreak {
  return { kind, auditId, message: `record ${auditId} ${message}` };
}
