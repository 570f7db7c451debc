/**
 * Verifies signed documents. Of a Genesis: its form, its signature, its Agent-ID, and whether its issuer
 * is trusted; of an identity document the same, and that its Agent-ID is its Genesis's; of a server
 * manifest its signature.   AGTP-API §8.8
 */
import type { JsonRecord } from "../../base/json-value.ts";
import { isError, type Problem } from "../../base/problem.ts";
import { readAgentFile } from "../../identity/agent-file.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { readGenesisFile } from "../../identity/genesis.ts";
import { type ManifestVerdict, verifyManifestByAny } from "../../identity/manifest-signature.ts";
import { type Check, type FileReport, hasPassed } from "./checks.ts";

/** The checks of a Genesis, and its Agent-ID when they passed. */
export interface GenesisReport extends FileReport {
  readonly genesis: ReturnType<typeof readGenesisFile>["genesis"];
}

/** Verifies the text of a Genesis. */
export function checkGenesis(
  text: string,
  file: string,
  issuers: readonly Ed25519PublicKey[],
): GenesisReport {
  const { genesis, problems } = readGenesisFile(text, file, issuers);
  const errors = problems.filter(isError);
  const own = ["signature", "agent_id"];
  const checks: readonly Check[] = [
    ...formChecks(problems, own, "issuer_public_key"),
    genesisSignatureCheck(errors),
    derivedIdCheck(errors, genesis?.agentId),
    issuerCheck(issuers, genesis?.isTrusted),
  ];
  return { file, kind: "genesis", checks, genesis };
}

/** Problems without a check of their own; a warning about trust has one. */
function formChecks(
  problems: readonly Problem[],
  own: readonly string[],
  trustKey: string,
): readonly Check[] {
  const found = problems.flatMap((problem): readonly Check[] => {
    const { key, message } = problem;
    const isOwn = own.includes(key) || (key === trustKey && !isError(problem));
    if (isOwn) return [];
    const outcome = isError(problem) ? "failed" : "warning";
    return [{ check: "form", outcome, message: key === "" ? message : `${key} ${message}` }];
  });
  const isWhole = found.every(({ outcome }) => outcome !== "failed");
  return isWhole
    ? [{ check: "form", outcome: "ok", message: "every member is as it should be" }, ...found]
    : found;
}

/** Tells whether the issuer is one of those that the command line names. */
function issuerCheck(issuers: readonly Ed25519PublicKey[], isTrusted: boolean | undefined): Check {
  const check = "issuer";
  if (issuers.length === 0) {
    return { check, outcome: "skipped", message: "no --issuer-key says who is trusted" };
  }
  if (isTrusted === undefined) {
    return { check, outcome: "skipped", message: "nothing else can be relied on" };
  }
  return isTrusted
    ? { check, outcome: "ok", message: "is trusted by --issuer-key" }
    : { check, outcome: "failed", message: "is none of those of --issuer-key" };
}

function genesisSignatureCheck(errors: readonly Problem[]): Check {
  const check = "signature";
  const failed = errors.find(({ key }) => key === "signature");
  if (failed !== undefined) return { check, outcome: "failed", message: failed.message };
  if (errors.some(({ key }) => key === "" || key === "issuer_public_key")) {
    return { check, outcome: "failed", message: "cannot be verified without a key to do it with" };
  }
  return { check, outcome: "ok", message: "verifies over the canonical form" };
}

function derivedIdCheck(errors: readonly Problem[], agentId: string | undefined): Check {
  const check = "agent-id";
  const failed = errors.find(({ key }) => key === "agent_id");
  if (failed !== undefined) return { check, outcome: "failed", message: failed.message };
  return agentId === undefined
    ? { check, outcome: "skipped", message: "nothing to derive one from" }
    : { check, outcome: "ok", message: agentId };
}

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
