/** Verifies what an operator's passkey signed, with the key in the record.   docs/approvals.md */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import { decodeJws } from "../../identity/jws.ts";
import { passkeyFault, readPasskeyAttestation } from "../../identity/passkey-attestation.ts";
import type { Check } from "./checks.ts";

/** The check of a record in which a passkey decided; undefined: none did. */
export function passkeyCheck(jws: string): Check | undefined {
  const payload = decodeJws(jws)?.payload;
  if (!isRecord(payload) || !isSignedDecision(payload)) return undefined;
  const { escalation_id, escalation_status, call_digest, operator } = payload;
  const check = "passkey";
  const attestation = readPasskeyAttestation(payload["attestation"]);
  if (attestation === undefined) {
    const message = "the record says that a passkey decided, and has no signature of one";
    return { check, outcome: "failed", message };
  }
  const fault = passkeyFault(attestation, {
    ...{ escalation_id: String(escalation_id), decision: String(escalation_status) },
    digest: typeof call_digest === "string" ? call_digest : undefined,
  });
  if (fault !== undefined) {
    return { check, outcome: "failed", message: `the attestation ${fault}` };
  }
  const who = isRecord(operator) ? String(operator["id"]) : "";
  return { check, outcome: "ok", message: `the decision is signed with a passkey of ${who}` };
}

function isSignedDecision({ event_type, operator }: JsonRecord): boolean {
  return event_type === "escalation_decided" && isRecord(operator) && operator["via"] === "passkey";
}
