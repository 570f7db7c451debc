/**
 * Verifies Attribution-Records, one per line: a record of a response, or a segment of a journal;
 * and decisions signed by an operator's passkey, with the key in the record.   docs/approvals.md
 */
import { createPublicKey, hash, type KeyObject } from "node:crypto";
import { isRecord, type JsonRecord, textIn } from "../../base/json-value.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { decodeJws } from "../../identity/jws.ts";
import { passkeyFault, readPasskeyAttestation } from "../../identity/passkey-attestation.ts";
import { verifyRecord } from "../../state/records/verify-record.ts";
import { type Check, type FileReport, failed, ok, skipped, warning } from "./checks.ts";

/** A prefix by which another implementation marks the content of a line. */
const MARK = /^jws:/;

/** The keys that may have signed records and decisions; if empty, any key is accepted. */
export interface RecordKeys {
  readonly keys: readonly Ed25519PublicKey[];
  readonly passkeys: readonly KeyObject[];
}

/** Verifies the records of a file. */
export function checkRecords(text: string, file: string, keys: RecordKeys): FileReport {
  const lines = text.split(/\r?\n/).filter((line) => line !== "");
  const checks =
    lines.length === 1
      ? checkOne(lines[0] ?? "", keys)
      : [...checkMany(lines, keys), ok("form", `${lines.length} lines`)];
  return { file, kind: "attribution-records", checks };
}

function checkOne(line: string, keys: RecordKeys): readonly Check[] {
  const jws = jwsOf(line);
  return [...checksOf(jws, keys), ok("audit-id", hash("sha256", jws))];
}

function jwsOf(line: string): string {
  return line.trim().replace(MARK, "");
}

function checksOf(jws: string, { keys, passkeys }: RecordKeys): readonly Check[] {
  const passkey = passkeyCheck(jws, passkeys);
  return [signatureCheck(jws, keys), ...(passkey === undefined ? [] : [passkey])];
}

/** Reports every failing line, and counts the others by kind. */
function checkMany(lines: readonly string[], keys: RecordKeys): readonly Check[] {
  const faults: Check[] = [];
  const others = new Map<string, { check: Check; count: number }>();
  for (const [index, line] of lines.entries()) {
    for (const check of checksOf(jwsOf(line), keys)) {
      if (check.outcome === "failed") {
        faults.push({ ...check, message: `line ${index + 1}: ${check.message}` });
        continue;
      }
      const other = others.get(check.message) ?? { check, count: 0 };
      others.set(check.message, { check, count: other.count + 1 });
    }
  }
  const counted = [...others.values()].map(({ check, count }) => ({
    ...check,
    message: `${count} records: ${check.message}`,
  }));
  return [...faults, ...counted];
}

function signatureCheck(jws: string, keys: readonly Ed25519PublicKey[]): Check {
  const verdict = verifyRecord(jws, keys);
  switch (verdict.kind) {
    case "verified":
      return ok("signature", `by ${verdict.kid}`);
    case "unchecked":
      return skipped("signature", "no --key to check it with");
    case "unsigned": {
      // With a named key a signature is expected, so a missing one fails.
      const make = keys.length === 0 ? warning : failed;
      return make("signature", "the record is not signed, anybody could have written it");
    }
    case "malformed-record":
    case "bad-signature":
    case "unknown-key":
      return failed("signature", `the record ${verdict.fault}`);
  }
}

/** The check of a record with a passkey's decision; undefined for any other record. */
function passkeyCheck(jws: string, pinned: readonly KeyObject[]): Check | undefined {
  const payload = decodeJws(jws)?.payload;
  if (!isRecord(payload) || !isSignedDecision(payload)) return undefined;
  const fault = decisionFault(payload, pinned);
  if (fault !== undefined) return failed("passkey", fault);
  const { operator } = payload;
  const who = isRecord(operator) ? String(operator["id"]) : "";
  return ok("passkey", `the decision is signed with a passkey of ${who}`);
}

/** Checks the decisions that passkeys signed along a chain, each counted once. */
export class PasskeyChecks {
  readonly #pinned: readonly KeyObject[];
  readonly #signed = new Set<string>();

  /** `pinned` are the keys that may have signed; if empty, each signature is checked with its record's own. */
  constructor(pinned: readonly KeyObject[]) {
    this.#pinned = pinned;
  }

  /** The number of decisions with valid signatures. */
  get signed(): number {
    return this.#signed.size;
  }

  get arePinned(): boolean {
    return this.#pinned.length > 0;
  }

  /** The fault of a record with a passkey's decision; undefined if it is valid, or no passkey decided. */
  readonly judge = (payload: JsonRecord): string | undefined => {
    if (!isSignedDecision(payload)) return undefined;
    const fault = decisionFault(payload, this.#pinned);
    if (fault !== undefined) return `was decided with a passkey, but ${fault}`;
    this.#signed.add(String(payload["escalation_id"]));
    return undefined;
  };
}

function decisionFault(payload: JsonRecord, pinned: readonly KeyObject[]): string | undefined {
  const { escalation_id, escalation_status, call_digest, content_digest } = payload;
  const attestation = readPasskeyAttestation(payload["attestation"]);
  if (attestation === undefined) {
    return "the record says that a passkey decided, and has no signature of one";
  }
  const fault = passkeyFault(attestation, {
    ...{ escalation_id: String(escalation_id), decision: String(escalation_status) },
    ...{ digest: textIn(call_digest), content_digest: textIn(content_digest) },
  });
  if (fault !== undefined) return `the attestation ${fault}`;
  if (pinned.length === 0 || isAmong(attestation.public_key, pinned)) return undefined;
  return `the attestation is signed with passkey ${attestation.credential_id}, which no --passkey names`;
}

function isAmong(jwk: JsonRecord, pinned: readonly KeyObject[]): boolean {
  try {
    const key = createPublicKey({ key: jwk, format: "jwk" });
    return pinned.some((one) => one.equals(key));
  } catch {
    return false;
  }
}

function isSignedDecision({ event_type, operator }: JsonRecord): boolean {
  return event_type === "escalation_decided" && isRecord(operator) && operator["via"] === "passkey";
}
