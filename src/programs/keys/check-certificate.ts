/**
 * Verifies an Agent Certificate, or the CA of such: what it says of itself, who issued it, and that
 * it agrees with its agent's Genesis.   AGTP-CERT "Agent Certificate Profile"
 */
import type { X509Certificate } from "node:crypto";
import { reasonOf } from "../../base/thrown.ts";
import { readAgentExtensions } from "../../identity/certificate-agent-extensions.ts";
import { checkClient, describeCertificate } from "../../identity/certificate-roles.ts";
import type { AgentExtensions } from "../../identity/client-certificate.ts";
import {
  checkTrustAnchor,
  readTrustAnchors,
  verifyClientCertificate,
} from "../../identity/client-certificate-verification.ts";
import type { Genesis } from "../../identity/genesis.ts";
import type { Check, FileReport } from "./checks.ts";

/** The context of a certificate's check. */
export interface CertificateContext {
  /** Undefined: issuers are not checked. */
  readonly anchors: readonly X509Certificate[] | undefined;
  /** The geneses of the same command line, verified. */
  readonly geneses: readonly Genesis[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Verifies the certificates of a file in PEM, an agent's first, those of intermediate CAs behind. */
export function checkCertificates(
  pem: string,
  file: string,
  context: CertificateContext,
): FileReport {
  const chain = readChain(pem);
  if (typeof chain === "string") return failed(file, chain);
  const [certificate] = chain;
  if (certificate === undefined) return failed(file, "holds no certificate in PEM");
  const description = describeCertificate(certificate);
  if ("fault" in description) return failed(file, description.fault);
  if (description.isAuthority) {
    const fault = checkTrustAnchor(certificate, context.now)?.fault;
    const checks = [formCheck(fault, `can issue certificates until ${until(certificate)}`)];
    return { file, kind: "certificate-authority", checks };
  }
  const role = checkClient(certificate, context.now);
  const checks = [
    formCheck("fault" in role ? role.fault : undefined, `is valid until ${until(certificate)}`),
    ...extensionChecks(readAgentExtensions(description.extensions), context.geneses),
    issuerCheck(chain, context),
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

function failed(file: string, message: string): FileReport {
  return {
    file,
    kind: "agent-certificate",
    checks: [{ check: "form", outcome: "failed", message }],
  };
}

function until({ validTo }: X509Certificate): string {
  return new Date(validTo).toISOString();
}

function formCheck(fault: string | undefined, message: string): Check {
  return fault === undefined
    ? { check: "form", outcome: "ok", message }
    : { check: "form", outcome: "failed", message: fault };
}

function extensionChecks(
  agent: ReturnType<typeof readAgentExtensions>,
  geneses: readonly Genesis[],
): readonly Check[] {
  const check = "agent";
  if (agent === undefined) {
    const message = "has no AGTP extensions: a plain client certificate";
    return [{ check, outcome: "warning", message }];
  }
  if ("fault" in agent) return [{ check, outcome: "failed", message: agent.fault }];
  return [{ check, outcome: "ok", message: describeAgent(agent) }, genesisCheck(agent, geneses)];
}

function describeAgent({ agentId, ownerId, scopes }: AgentExtensions): string {
  const owner = ownerId === undefined ? "" : `, owner ${ownerId}`;
  const commitment = scopes === undefined ? "" : `, committed to ${scopes.join(",") || "no scope"}`;
  return agentId + owner + commitment;
}

function genesisCheck({ agentId, ownerId }: AgentExtensions, geneses: readonly Genesis[]): Check {
  const check = "genesis";
  const genesis = geneses.find((one) => one.agentId === agentId);
  if (genesis === undefined) {
    const outcome = geneses.length === 0 ? "skipped" : "failed";
    return { check, outcome, message: "no Genesis was given that has this Agent-ID" };
  }
  if (ownerId !== undefined && genesis.ownerId !== undefined && ownerId !== genesis.ownerId) {
    return { check, outcome: "failed", message: `${genesis.file} has another owner` };
  }
  return { check, outcome: "ok", message: `agrees with ${genesis.file}` };
}

function issuerCheck(
  chain: readonly X509Certificate[],
  { anchors, now }: CertificateContext,
): Check {
  const check = "issuer";
  if (anchors === undefined) {
    return { check, outcome: "skipped", message: "no --ca says who is trusted" };
  }
  const verified = verifyClientCertificate(
    chain.map(({ raw }) => raw),
    anchors,
    now,
  );
  return "fault" in verified
    ? { check, outcome: "failed", message: `the certificate ${verified.fault}` }
    : { check, outcome: "ok", message: "is trusted by --ca" };
}
