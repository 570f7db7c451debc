/**
 * The signature of a server manifest: a JWS whose payload is the canonical form of the manifest
 * without `manifest_signature`. The reader weighs the outcome: an unsigned manifest may not be
 * refused.   AGTP-API §8.8
 */
import type { JsonRecord } from "../base/json-value.ts";
import { canonicalForm } from "./canonical-form.ts";
import type { Ed25519PublicKey } from "./ed25519.ts";
import { decodeJws, isSignedBy, keyId, keyOfHeader } from "./jws.ts";

/** The media type of a manifest.   AGTP-API §8.10 */
export const MANIFEST_TYPE = "application/vnd.agtp.manifest+json";

export type ManifestVerdict =
  /** Signed by a key that the reader knows. */
  | { readonly kind: "verified"; readonly kid: string }
  /** Signed by the key in its own header: the manifest is unaltered, but its author is not proven. */
  | { readonly kind: "intact"; readonly kid: string }
  | { readonly kind: "unsigned" }
  | { readonly kind: "invalid"; readonly fault: string };

/** Verifies a manifest with the first of the given keys that signed it; without keys, with the one in its header. */
export function verifyManifestByAny(
  manifest: JsonRecord,
  keys: readonly Ed25519PublicKey[],
): ManifestVerdict {
  const verdicts = keys.map((key) => verifyManifest(manifest, key));
  const verified = verdicts.find(({ kind }) => kind === "verified");
  return verified ?? verdicts[0] ?? verifyManifest(manifest);
}

/** Verifies a manifest's signature, with a known key if there is one. */
export function verifyManifest(manifest: JsonRecord, key?: Ed25519PublicKey): ManifestVerdict {
  const jws = manifest["manifest_signature"] ?? undefined;
  if (jws === undefined) return { kind: "unsigned" };
  const decoded = typeof jws === "string" ? decodeJws(jws) : undefined;
  if (decoded === undefined) return invalid("is no compact JWS");
  const signer = key ?? keyOfHeader(decoded.header);
  if (signer === undefined) return invalid("names no key that it could be checked with");
  const payload = Buffer.from(decoded.input.slice(decoded.input.indexOf(".") + 1), "base64url");
  const form = formOf(manifest);
  if (form === undefined) return invalid("is over what has no canonical form");
  if (!payload.equals(form)) return invalid("is over another manifest");
  if (!isSignedBy(decoded, signer)) return invalid("does not verify");
  return { kind: key === undefined ? "intact" : "verified", kid: keyId(signer) };
}

/** The manifest is the peer's: it may be too deep, or contain a number that JCS rejects. */
function formOf(manifest: JsonRecord): Buffer | undefined {
  try {
    return canonicalForm(manifest, ["manifest_signature"]);
  } catch {
    return undefined;
  }
}

function invalid(fault: string): ManifestVerdict {
  return { kind: "invalid", fault };
}
