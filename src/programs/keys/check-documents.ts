/**
 * Verifies signed documents. A Genesis: its form, its signature, its Agent-ID, and whether its
 * issuer is trusted; an identity document: the same, and that its Agent-ID is its Genesis's; a
 * server manifest: its signature; an Agent Certificate, or a CA of such: its content, its issuer,
 * and that it agrees with its agent's Genesis.   AGTP-API §8.8, AGTP-CERT "Agent Certificate Profile"
 */

import type { X509Certificate } from "node:crypto";
import type { JsonRecord } from "../../base/json-value.ts";
import { isError, type Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import { readAgentFile } from "../../identity/agent-file.ts";
import { readAgentExtensions } from "../../identity/certificate-agent-extensions.ts";
import { checkClient, describeCertificate } from "../../identity/certificate-roles.ts";
import type { AgentExtensions } from "../../identity/client-certificate.ts";
import {
  checkTrustAnchor,
  readTrustAnchors,
  verifyClientCertificate,
} from "../../identity/client-certificate-verification.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { type Genesis, readGenesisFile } from "../../identity/genesis.ts";
import { type ManifestVerdict, verifyManifestByAny } from "../../identity/manifest-signature.ts";
import { type Check, type FileReport, failed, hasPassed, ok, skipped, warning } from "./checks.ts";

/** The checks of a Genesis, with its Agent-ID if they passed. */
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
    agentIdCheck(errors, () =>
      genesis === undefined
        ? skipped("agent-id", "nothing to derive one from")
        : ok("agent-id", genesis.agentId),
    ),
    issuerCheck(issuers, genesis?.isTrusted),
  ];
  return { file, kind: "genesis", checks, genesis };
}

/** The problems that no other check covers; warnings about trust have a check of their own. */
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

/** Checks that the issuer is one of those named on the command line. */
function issuerCheck(issuers: readonly Ed25519PublicKey[], isTrusted: boolean | undefined): Check {
  if (issuers.length === 0) return skipped("issuer", "no --issuer-key says who is trusted");
  if (isTrusted === undefined) return skipped("issuer", "nothing else can be relied on");
  return isTrusted
    ? ok("issuer", "is trusted by --issuer-key")
    : failed("issuer", "is none of those of --issuer-key");
}

function genesisSignatureCheck(errors: readonly Problem[]): Check {
  const fault = errors.find(({ key }) => key === "signature");
  if (fault !== undefined) return failed("signature", fault.message);
  return errors.some(({ key }) => key === "" || key === "issuer_public_key")
    ? failed("signature", "cannot be verified without a key to do it with")
    : ok("signature", "verifies over the canonical form");
}

/** The check of an Agent-ID, made by `judge` unless the document's own is faulty. */
function agentIdCheck(errors: readonly Problem[], judge: () => Check): Check {
  const fault = errors.find(({ key }) => key === "agent_id");
  return fault === undefined ? judge() : failed("agent-id", fault.message);
}

const SIGNATURE_KEYS = ["manifest_issuer", "manifest_issuer_public_key", "manifest_signature"];

/** Verifies the text of a document; `beside` is its Genesis, if one was found. */
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
    agentIdCheck(errors, () => genesisAgreement(beside)),
    ...(isSigned === true ? [issuerCheck(issuers, document?.signature === "trusted")] : []),
  ];
  return { file, kind: "identity-document", checks };
}

function signatureCheck(errors: readonly Problem[], isSigned: boolean | undefined): Check {
  const fault = errors.find(({ key }) => SIGNATURE_KEYS.includes(key));
  if (fault !== undefined) return failed("signature", `${fault.key} ${fault.message}`);
  if (isSigned === undefined) return skipped("signature", "the document cannot be read");
  return isSigned
    ? ok("signature", "verifies over the canonical form")
    : warning("signature", "there is none, nobody vouches for the document");
}

function genesisAgreement(beside: GenesisReport | undefined): Check {
  if (beside === undefined) {
    return skipped("agent-id", "no Genesis was given, nor is one beside it");
  }
  return hasPassed(beside)
    ? ok("agent-id", `is that of ${beside.file}`)
    : failed("agent-id", `its Genesis fails, ${beside.file}`);
}

/**
 * Verifies a server manifest with the first of the given keys that signed it; without keys, with
 * the one it contains.   AGTP-API §8.8
 */
export function checkManifest(
  manifest: JsonRecord,
  file: string,
  keys: readonly Ed25519PublicKey[],
): FileReport {
  return { file, kind: "manifest", checks: signatureChecks(verifyManifestByAny(manifest, keys)) };
}

function signatureChecks(verdict: ManifestVerdict): readonly Check[] {
  switch (verdict.kind) {
    case "verified":
      return [ok("signature", `by ${verdict.kid}`)];
    case "intact":
      return [
        ok("signature", `by ${verdict.kid}, the key that it brings itself`),
        skipped("signer", "no --key says who should have signed"),
      ];
    case "unsigned":
      return [warning("signature", "there is none, nobody vouches for it")];
    case "invalid":
      return [failed("signature", verdict.fault)];
  }
}

export interface CertificateContext {
  /** Undefined if issuers are not checked. */
  readonly anchors: readonly X509Certificate[] | undefined;
  readonly geneses: readonly Genesis[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Verifies the certificates of a PEM file: an agent's, followed by those of intermediate CAs. */
export function checkCertificates(
  pem: string,
  file: string,
  context: CertificateContext,
): FileReport {
  const chain = readChain(pem);
  if (typeof chain === "string") return failedFile(file, chain);
  const [certificate] = chain;
  if (certificate === undefined) return failedFile(file, "holds no certificate in PEM");
  const description = describeCertificate(certificate);
  if ("fault" in description) return failedFile(file, description.fault);
  if (description.isAuthority) {
    const fault = checkTrustAnchor(certificate, context.now)?.fault;
    const checks = [formCheck(fault, `can issue certificates until ${until(certificate)}`)];
    return { file, kind: "certificate-authority", checks };
  }
  const role = checkClient(certificate, context.now);
  const checks = [
    formCheck("fault" in role ? role.fault : undefined, `is valid until ${until(certificate)}`),
    ...extensionChecks(readAgentExtensions(description.extensions), context.geneses),
    chainCheck(chain, context),
  ];
  return { file, kind: "agent-certificate", checks };
}

function readChain(pem: string): readonly X509Certificate[] | string {
  try {
    return readTrustAnchors(pem);
  } catch (error) {
    return `is damaged: ${reasonOf(error)}`;
  }
}

function failedFile(file: string, message: string): FileReport {
  return { file, kind: "agent-certificate", checks: [failed("form", message)] };
}

function until({ validTo }: X509Certificate): string {
  return new Date(validTo).toISOString();
}

function formCheck(fault: string | undefined, message: string): Check {
  return fault === undefined ? ok("form", message) : failed("form", fault);
}

function extensionChecks(
  agent: ReturnType<typeof readAgentExtensions>,
  geneses: readonly Genesis[],
): readonly Check[] {
  if (agent === undefined) {
    return [warning("agent", "has no AGTP extensions: a plain client certificate")];
  }
  if ("fault" in agent) return [failed("agent", agent.fault)];
  return [ok("agent", describeAgent(agent)), genesisCheck(agent, geneses)];
}

function describeAgent({ agentId, ownerId, scopes }: AgentExtensions): string {
  const owner = ownerId === undefined ? "" : `, owner ${ownerId}`;
  const commitment = scopes === undefined ? "" : `, committed to ${scopes.join(",") || "no scope"}`;
  return agentId + owner + commitment;
}

function genesisCheck({ agentId, ownerId }: AgentExtensions, geneses: readonly Genesis[]): Check {
  const genesis = geneses.find((one) => one.agentId === agentId);
  if (genesis === undefined) {
    const make = geneses.length === 0 ? skipped : failed;
    return make("genesis", "no Genesis was given that has this Agent-ID");
  }
  const isOther = ownerId !== undefined && (genesis.ownerId ?? ownerId) !== ownerId;
  return isOther
    ? failed("genesis", `${genesis.file} has another owner`)
    : ok("genesis", `agrees with ${genesis.file}`);
}

function chainCheck(
  chain: readonly X509Certificate[],
  { anchors, now }: CertificateContext,
): Check {
  if (anchors === undefined) return skipped("issuer", "no --ca says who is trusted");
  const raw = chain.map((one) => one.raw);
  const verified = verifyClientCertificate(raw, anchors, now);
  return "fault" in verified
    ? failed("issuer", `the certificate ${verified.fault}`)
    : ok("issuer", "is trusted by --ca");
}
