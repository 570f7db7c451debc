/**
 * Issues Agent Certificates, and creates the CA that signs them. An issued certificate is verified
 * first as a server would: a CA that cannot vouch for agents is a fault.
 * AGTP-CERT "Agent Certificate Profile"
 */
import { createPublicKey } from "node:crypto";
import {
  type AgentProfile,
  checkAgentProfile,
  encodeAgentExtensions,
} from "./certificate-agent-extensions.ts";
import { parsePemCertificate } from "./certificate-chain.ts";
import { readElement } from "./certificate-der.ts";
import type { CertificateFault } from "./certificate-fields.ts";
import { describeCertificate } from "./certificate-roles.ts";
import {
  createSigner,
  encodeName,
  type KeyKind,
  keyIdentifierOf,
  makeKey,
  writeCertificate,
} from "./certificate-writer.ts";
import { verifyClientCertificate } from "./client-certificate-verification.ts";

export interface AgentCertificateRequest extends AgentProfile {
  /** The agent's label, and the organization that answers for it: 1 to 64 characters. */
  readonly name: string;
  readonly organization: string;
  /** 1 to 90. Default: 90. */
  readonly days?: number | undefined;
  /** PEM, unencrypted. */
  readonly caKey: string;
  readonly caCert: string;
  /** PEM. Default: a key is generated. */
  readonly publicKey?: string | undefined;
  readonly keyKind?: KeyKind | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: number | undefined;
}

interface AgentCaRequest {
  readonly name: string;
  /** 1 to 3650. */
  readonly days: number;
  readonly now?: number | undefined;
}

/** A certificate in PEM, and its private key if that was generated too. */
export interface IssuedCertificate {
  readonly certificate: string;
  readonly key: string | undefined;
}

const MAX_AGENT_DAYS = 90;
const MAX_CA_DAYS = 3650;
const DAY_MS = 86_400_000;
/** Allows for servers whose clocks run slow. */
const CLOCK_SKEW_MS = 300_000;
const SUBJECT_KEY_IDENTIFIER = "2.5.29.14";
/** The bounds of RFC 5280 Appendix A. */
const NAME = /^[^\p{Cc}]{1,64}$/u;

/** Issues a certificate for an agent. */
export function issueAgentCertificate(
  request: AgentCertificateRequest,
): IssuedCertificate | CertificateFault {
  const { days = MAX_AGENT_DAYS, name, organization, now = Date.now() } = request;
  const fault =
    checkAgentProfile(request) ??
    checkName("the name", name) ??
    checkName("the organization", organization) ??
    checkDays(days, MAX_AGENT_DAYS);
  if (fault !== undefined) return fault;
  const issuer = readIssuer(request);
  if ("fault" in issuer) return issuer;
  const subject = readSubjectKey(request);
  if (subject === undefined) return { fault: "the public key must be one in PEM" };
  const period = periodOf(now, days);
  const certificate = writeCertificate({
    subject: subjectOf(request),
    publicKey: subject.publicKey,
    issuer,
    notBefore: period.notBefore,
    notAfter: Math.min(period.notAfter, issuer.notAfter),
    role: "client",
    extensions: encodeAgentExtensions(request),
  });
  const verified = verifyClientCertificate([certificate.raw], [issuer.certificate], now);
  if ("fault" in verified) return { fault: `the certificate ${verified.fault}` };
  return { certificate: certificate.toString(), key: subject.key };
}

/** Makes a self-signed CA for Agent Certificates: P-256, with no other CA below it. */
export function makeAgentCa({
  name,
  days,
  now = Date.now(),
}: AgentCaRequest): IssuedCertificate | CertificateFault {
  const fault = checkName("the name", name) ?? checkDays(days, MAX_CA_DAYS);
  if (fault !== undefined) return fault;
  const key = makeKey("p256");
  const signer = createSigner(key);
  if ("fault" in signer) return signer;
  const subject = encodeName([["CN", name]]);
  const publicKey = createPublicKey(key);
  const certificate = writeCertificate({
    subject,
    publicKey,
    issuer: { signer, name: subject, keyIdentifier: keyIdentifierOf(publicKey) },
    ...periodOf(now, days),
    role: "authority",
    extensions: [],
  });
  return { certificate: certificate.toString(), key };
}

function readIssuer({ caCert, caKey }: AgentCertificateRequest) {
  const signer = createSigner(caKey);
  if ("fault" in signer) return signer;
  const certificate = parsePemCertificate(caCert);
  if (certificate === undefined) return { fault: "the CA's certificate must be one in PEM" };
  if (!certificate.checkPrivateKey(signer.key)) {
    return { fault: "the CA's key must be that of its certificate" };
  }
  const description = describeCertificate(certificate);
  if ("fault" in description) return { fault: `the CA's certificate ${description.fault}` };
  const { subject, notAfter, extensions } = description;
  const identifier = readElement(extensions.get(SUBJECT_KEY_IDENTIFIER)?.value ?? Buffer.alloc(0));
  return { signer, certificate, notAfter, name: subject, keyIdentifier: identifier?.content };
}

function readSubjectKey({ publicKey, keyKind = "p256" }: AgentCertificateRequest) {
  if (publicKey === undefined) {
    const key = makeKey(keyKind);
    return { publicKey: createPublicKey(key), key };
  }
  try {
    return { publicKey: createPublicKey(publicKey), key: undefined };
  } catch {
    return undefined;
  }
}

/** The organizational unit is the zone, if it is short enough for one. */
function subjectOf({ name, organization, governanceZone = "" }: AgentCertificateRequest): Buffer {
  const unit = NAME.test(governanceZone) ? ([["OU", governanceZone]] as const) : [];
  return encodeName([["O", organization], ...unit, ["CN", name]]);
}

function periodOf(now: number, days: number) {
  const notBefore = now - CLOCK_SKEW_MS;
  return { notBefore, notAfter: notBefore + days * DAY_MS };
}

function checkName(what: string, text: string): CertificateFault | undefined {
  if (NAME.test(text)) return undefined;
  return { fault: `${what} must be 1 to 64 characters, got ${JSON.stringify(text)}` };
}

function checkDays(days: number, most: number): CertificateFault | undefined {
  if (Number.isInteger(days) && days >= 1 && days <= most) return undefined;
  return { fault: `the days must be 1 to ${most}, got ${days}` };
}
