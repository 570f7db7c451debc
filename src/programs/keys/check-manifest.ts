/** Verifies the signature of a server manifest.   AGTP-API §8.8 */

import type { JsonRecord } from "../../base/json-value.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { type ManifestVerdict, verifyManifest } from "../../identity/manifest-signature.ts";
import type { Check, FileReport } from "./checks.ts";

/** Verifies a manifest by the first of some keys that signed it, or by its own without any. */
export function checkManifest(
  manifest: JsonRecord,
  file: string,
  keys: readonly Ed25519PublicKey[],
): FileReport {
  const verdicts = keys.map((key) => verifyManifest(manifest, key));
  const verified = verdicts.find(({ kind }) => kind === "verified");
  const verdict = verified ?? verdicts[0] ?? verifyManifest(manifest);
  return { file, kind: "manifest", checks: signatureChecks(verdict) };
}

function signatureChecks(verdict: ManifestVerdict): readonly Check[] {
  const check = "signature";
  switch (verdict.kind) {
    case "verified":
      return [{ check, outcome: "ok", message: `by ${verdict.kid}` }];
    case "intact":
      return [
        { check, outcome: "ok", message: `by ${verdict.kid}, the key that it brings itself` },
        { check: "signer", outcome: "skipped", message: "no --key says who should have signed" },
      ];
    case "unsigned":
      return [{ check, outcome: "warning", message: "there is none, nobody vouches for it" }];
    case "invalid":
      return [{ check, outcome: "failed", message: verdict.fault }];
  }
}
