/**
 * The signature of a manifest. None, or one that proves nothing about its author, is no fault; one
 * that does not verify is.   AGTP-API §8.8
 */

import type { DocumentPlace } from "../../base/document-place.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { type ManifestVerdict, verifyManifestByAny } from "../../identity/manifest-signature.ts";

/** Judges the signature by the first of some keys that made it, or by the key that it brings. */
export function checkSignature(
  manifest: DocumentPlace,
  value: JsonRecord,
  keys: readonly Ed25519PublicKey[],
): ManifestVerdict {
  const verdict = verifyManifestByAny(value, keys);
  const place = manifest.at("manifest_signature").under("8.8");
  switch (verdict.kind) {
    case "unsigned":
      // Without a key nobody expects a signature; whoever names one does.
      if (keys.length === 0) place.warn("there is none, so nobody vouches for the manifest");
      else place.fail("there is none, expected one by the key that was named");
      break;
    case "invalid":
      place.fail(verdict.fault);
      break;
    case "verified":
    case "intact":
      break;
  }
  return verdict;
}

/** A verdict in a sentence. */
export function describeVerdict(verdict: ManifestVerdict): string {
  switch (verdict.kind) {
    case "verified":
      return `verified, by ${verdict.kid}`;
    case "intact":
      return `intact, by ${verdict.kid}, a key that it brings itself: no --key says whose it is`;
    case "unsigned":
      return "there is none";
    case "invalid":
      return verdict.fault;
  }
}
