/** Verifies what an operator's passkey signed, with the key in the record.   docs/approvals.md */
import { createPublicKey, type KeyObject } from "node:crypto";
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { decodeJws } from "../../identity/jws.ts";
import { passkeyFault, readPasskeyAttestation } from "../../identity/passkey-attestation.ts";
import type { Check } from "./checks.ts";

/** The check of a record in which a passkey decided; undefined: none did. */
export function passkeyCheck(jws: string): Check | undefined {
  const payload = decodeJws(jws)?.payload;
  if (!isRecord(payload) || !isSignedDecision(payload)) return undefined;
  const check = "passkey";
  const fault = decisionFault(payload, []);
  if (fault !== undefined) return { check, outcome: "failed", message: fault };
  const { operator } = payload;
  const who = isRecord(operator) ? String(operator["id"]) : "";
  return { check, outcome: "ok", message: `the decision is signed with a passkey of ${who}` };
}

/** Passkeys along a chain: the decisions that they signed, counted once each. */
export class PasskeyChecks {
  readonly #pinned: readonly KeyObject[];
  readonly #signed = new Set<string>();

  /** `pinned` are the keys that may have signed; with none, each is checked with its record's own. */
  constructor(pinned: readonly KeyObject[]) {
    this.#pinned = pinned;
  }

  /** Decisions whose signatures hold. */
  get signed(): number {
    return this.#signed.size;
  }

  get arePinned(): boolean {
    return this.#pinned.length > 0;
  }

  /** The fault of a record in which a passkey decided; undefined: none, or no passkey did. */
  readonly judge = (payload: JsonRecord): string | undefined => {
    if (!isSignedDecision(payload)) return undefined;
    const fault = decisionFault(payload, this.#pinned);
    if (fault !== undefined) return `was decided with a passkey, but ${fault}`;
    this.#signed.add(String(payload["escalation_id"]));
    return undefined;
  };
}

function decisionFault(payload: JsonRecord, pinned: readonly KeyObject[]): string | undefined {
  const { escalation_id, escalation_status, call_digest } = payload;
  const attestation = readPasskeyAttestation(payload["attestation"]);
  if (attestation === undefined) {
    return "the record says that a passkey decided, and has no signature of one";
  }
  const fault = passkeyFault(attestation, {
    ...{ escalation_id: String(escalation_id), decision: String(escalation_status) },
    digest: typeof call_digest === "string" ? call_digest : undefined,
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
