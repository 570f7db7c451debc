/**
 * The statement that an operator's passkey signs on approval, in a form that anyone can check
 * later: the challenge is a hash over the decision, and the public key is stored beside the
 * signature. docs/approvals.md, Web Authentication §7.2
 */
import { createPublicKey, hash, type JsonWebKey, verify } from "node:crypto";
import { given, isRecord, type JsonRecord, parseRecord } from "../base/json-value.ts";
import { canonicalText, canonicalTextOf } from "./canonical-form.ts";

/** The signed decision; keys are the wire's own. */
export interface SignedDecision {
  readonly escalation_id: string;
  /** `sha256:` of the approved call, or of the question if there is no call. */
  readonly digest: string;
  readonly decision: string;
  /** `sha256:` of the answer that accompanies it, if an upstream or a run asked. */
  readonly content_digest?: string;
  readonly resume_value_digest?: string;
}

/** The `attestation` of a decision; octets are base64url. */
export interface PasskeyAttestation {
  readonly type: "webauthn";
  readonly credential_id: string;
  /** A JWK with its `alg`. */
  readonly public_key: JsonRecord;
  readonly digest: string;
  readonly content_digest?: string;
  readonly resume_value_digest?: string;
  readonly nonce: string;
  readonly client_data_json: string;
  readonly authenticator_data: string;
  readonly signature: string;
}

/** The text members of an attestation. */
const TEXTS = ["credential_id", "digest", "nonce", "client_data_json"] as const;
const ANSWERS = ["content_digest", "resume_value_digest"] as const;
const OCTETS = ["authenticator_data", "signature"] as const;
const HASHES: Readonly<Record<string, string | null>> = {
  ...{ EdDSA: null, ES256: "sha256", RS256: "sha256" },
};
/** The flag for user presence.   Web Authentication §6.1 */
const USER_PRESENT = 0x01;
const FLAGS_AT = 32;

/** The challenge for a subject: base64url of the SHA-256 over the canonical form of it and the nonce. */
export function challengeOf(subject: SignedDecision | JsonRecord, nonce: string): string {
  return challengeOfText(canonicalText({ ...subject, nonce }));
}

function challengeOfText(canonical: string): string {
  return hash("sha256", canonical, "base64url");
}

/** Reads the attestation of a decision; undefined if it was made without a passkey. */
export function readPasskeyAttestation(value: unknown): PasskeyAttestation | undefined {
  if (!isRecord(value) || value["type"] !== "webauthn" || !isRecord(value["public_key"])) {
    return undefined;
  }
  const isWhole = [...TEXTS, ...OCTETS].every((name) => typeof value[name] === "string");
  const isRead = ANSWERS.every((name) => ["string", "undefined"].includes(typeof value[name]));
  return isWhole && isRead ? (value as unknown as PasskeyAttestation) : undefined;
}

/** A decision as recorded: without the question, and without the value that a run resumes with. */
interface RecordedDecision extends Pick<SignedDecision, "escalation_id" | "decision"> {
  readonly digest?: string | undefined;
  readonly content_digest?: string | undefined;
}

/** The reason an attestation does not match this decision; undefined if its key signed the decision. */
export function passkeyFault(
  attestation: PasskeyAttestation,
  { escalation_id, decision, ...recorded }: RecordedDecision,
): string | undefined {
  const { digest, content_digest, resume_value_digest, nonce, public_key: jwk } = attestation;
  if (recorded.digest !== undefined && recorded.digest !== digest) {
    return "is for another call than the one that was decided";
  }
  if (recorded.content_digest !== content_digest) {
    return "is for another answer than the one that was given";
  }
  const clientData = Buffer.from(attestation.client_data_json, "base64url");
  const { type, challenge } = clientDataOf(clientData);
  if (type !== "webauthn.get") return "is no assertion of a passkey";
  const answers = given({ content_digest, resume_value_digest });
  const canonical = canonicalTextOf({ escalation_id, digest, decision, ...answers, nonce });
  // A value without a canonical form cannot have been signed.
  if (canonical === undefined || challenge !== challengeOfText(canonical)) {
    return "is for another decision";
  }
  const authenticatorData = Buffer.from(attestation.authenticator_data, "base64url");
  if (((authenticatorData[FLAGS_AT] ?? 0) & USER_PRESENT) === 0)
    return "was made with nobody there";
  const signed = Buffer.concat([authenticatorData, hash("sha256", clientData, "buffer")]);
  const signature = Buffer.from(attestation.signature, "base64url");
  return isSigned(jwk, signed, signature) ? undefined : "has a signature that its key did not make";
}

function clientDataOf(octets: Buffer): { readonly type?: unknown; readonly challenge?: unknown } {
  return parseRecord(octets.toString("utf8")) ?? {};
}

function isSigned(jwk: JsonRecord, signed: Buffer, signature: Buffer): boolean {
  const hash = HASHES[String(jwk["alg"])];
  if (hash === undefined) return false;
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
    return verify(hash, signed, key, signature);
  } catch {
    return false;
  }
}
