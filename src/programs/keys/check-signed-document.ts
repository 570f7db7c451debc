/**
 * Verifies signed documents. Of an identity document: its form, its signature, and that its
 * Agent-ID is its Genesis's; of a server manifest its signature.   AGTP-API §8.8
 */

import type { JsonRecord } from "../../base/json-value.ts";
import { isError, type Problem } from "../../base/problem.ts";
import { readAgentFile } from "../../identity/agent-file.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { type ManifestVerdict, verifyManifestByAny } from "../../identity/manifest-signature.ts";
import { formChecks, type GenesisReport, issuerCheck } from "./check-genesis.ts";
import { type Check, type FileReport, hasPassed } from "./checks.ts";

const SIGNATURE_KEYS = ["manifest_issuer", "manifest_issuer_public_key", "manifest_signature"];

/** Verifies the text of a document; `beside` is the Genesis that was found for it. */
export function checkDocument(
  text: string,
  file: string,
  beside: GenesisReport | undefined,
  issuers: readonly Ed25519PublicKey[],
): FileReport {
  const { genesis } = beside ?? {};
  const context = { trustedIssuers: issuers, ...(genesis === undefined ? {} : { genesis }) };
  const { document, problems } = readAgentFile(text, file, context);
  const errors = problems.filter(isError);
  const isSigned = document === undefined ? undefined : document.signature !== "none";
  const checks: readonly Check[] = [
    ...formChecks(problems, [...SIGNATURE_KEYS, "agent_id"], "manifest_issuer_public_key"),
    signatureCheck(errors, isSigned),
    agentIdCheck(errors, beside),
    ...(isSigned === true ? [issuerCheck(issuers, document?.signature === "trusted")] : []),
  ];
  return { file, kind: "identity-document", checks };
}

function signatureCheck(errors: readonly Problem[], isSigned: boolean | undefined): Check {
  const check = "signature";
  const failed = errors.find(({ key }) => SIGNATURE_KEYS.includes(key));
  if (failed !== undefined) {
    return { check, outcome: "failed", message: `${failed.key} ${failed.message}` };
  }
  if (isSigned === false) {
    return { check, outcome: "warning", message: "there is none, nobody vouches for the document" };
  }
  return isSigned === undefined
    ? { check, outcome: "skipped", message: "the document cannot be read" }
    : { check, outcome: "ok", message: "verifies over the canonical form" };
}

function agentIdCheck(errors: readonly Problem[], beside: GenesisReport | undefined): Check {
  const check = "agent-id";
  const failed = errors.find(({ key }) => key === "agent_id");
  if (failed !== undefined) return { check, outcome: "failed", message: failed.message };
  if (beside === undefined) {
    return { check, outcome: "skipped", message: "no Genesis was given, nor is one beside it" };
  }
  return hasPassed(beside)
    ? { check, outcome: "ok", message: `is that of ${beside.file}` }
    : { check, outcome: "failed", message: `its Genesis fails, ${beside.file}` };
}

/**
 * Verifies a server manifest by the first of some keys that signed it, or by its own without any.
 * AGTP-API §8.8
 */
export function checkManifest(
  manifest: JsonRecord,
  file: string,
  keys: readonly Ed25519PublicKey[],
): FileReport {
  return { file, kind: "manifest", checks: signatureChecks(verifyManifestByAny(manifest, keys)) };
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
