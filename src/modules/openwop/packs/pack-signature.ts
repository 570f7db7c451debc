/**
 * Tells whether a pack's manifest is signed by somebody whom the operator trusts: a signature of
 * 64 octets over the exact octets of pack.json. A key that lies in the pack itself proves nothing.
 * A signature that does not verify refuses the pack; one that cannot be judged, by the operator's
 * word.   OpenWOP "Node Packs" signing
 */

import { isRecord, type JsonRecord, quoteValue } from "../../../base/json-value.ts";
import { type Ed25519PublicKey, verifyDetached } from "../../../identity/ed25519.ts";
import type { PackFiles } from "./pack-files.ts";

/** The keys whose signatures count. */
export interface SignaturePolicy {
  /** By `publicKeyRef`. */
  readonly trustedKeys: ReadonlyMap<string, Ed25519PublicKey>;
  readonly isRequired: boolean;
}

/** All that there is to say of a signature. */
export interface SignatureFinding {
  readonly key: string;
  readonly message: string;
  readonly severity?: "warning";
}

const USUAL_PLACE = "keys/pack.json.sig";
const SIGNATURE_BYTES = 64;

/** Undefined: nothing is wrong with it. */
export function checkSignature(
  manifest: JsonRecord,
  text: string,
  files: PackFiles,
  { trustedKeys, isRequired }: SignaturePolicy,
): SignatureFinding | undefined {
  const signing = isRecord(manifest["signing"]) ? manifest["signing"] : undefined;
  const place = textOf(signing?.["signatureRef"]) ?? USUAL_PLACE;
  const signature = files.readBytes(place, SIGNATURE_BYTES);
  if (signing === undefined && signature.value === undefined) {
    return isRequired ? invalid("signing", "the pack must be signed, and is not") : undefined;
  }
  const name = textOf(signing?.["publicKeyRef"]);
  const key = signing?.["method"] === "sigstore" ? undefined : trustedKeys.get(name ?? "");
  if (key === undefined) {
    const who = name === undefined ? "names no key" : `names ${quoteValue(name)}`;
    const message = `${who}, expected one of openwop.trusted_keys; the signature proves nothing`;
    const finding = { key: "signing.publicKeyRef", message };
    return isRequired ? invalid(finding.key, message) : { ...finding, severity: "warning" };
  }
  if (signature.value === undefined) return invalid("signing.signatureRef", signature.fault);
  const encoded = Buffer.from(signature.value).toString("base64url");
  if (verifyDetached(key, Buffer.from(text, "utf8"), encoded)) return undefined;
  const message = `${quoteValue(place)} does not verify: pack.json was altered, or signed with another key`;
  return invalid("signing.signatureRef", message);
}

function invalid(key: string, message: string): SignatureFinding {
  return { key, message: `pack_signature_invalid: ${message}` };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
