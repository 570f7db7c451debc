import { execFileSync } from "node:child_process";
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  X509Certificate,
} from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type AgentCertificateRequest,
  type IssuedCertificate,
  issueAgentCertificate,
  makeAgentCa,
} from "../../src/identity/certificate-authority.ts";
import { describeCertificate } from "../../src/identity/certificate-roles.ts";
import { verifyClientCertificate } from "../../src/identity/client-certificate-verification.ts";
import { makeDirectory } from "../support/directory.ts";
import { CA_EXTENSIONS, OpensslPki } from "../support/openssl-pki.ts";

const NOW = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const AGENT_ID = "0123456789abcdef".repeat(4);

const ca = made(makeAgentCa({ name: "Acme Agents", days: 365, now: NOW }));
const REQUEST: AgentCertificateRequest = {
  ...{ agentId: AGENT_ID, name: "lauren", organization: "Acme Retail" },
  ...{ caKey: ca.key, caCert: ca.certificate, now: NOW },
};

function made(
  issued: ReturnType<typeof makeAgentCa>,
): IssuedCertificate & { readonly key: string } {
  if ("fault" in issued) throw new Error(issued.fault);
  return { ...issued, key: issued.key ?? "" };
}

function issue(request: Partial<AgentCertificateRequest> = {}) {
  return made(issueAgentCertificate({ ...REQUEST, ...request }));
}

function faultIn(request: Partial<AgentCertificateRequest>): string | undefined {
  const issued = issueAgentCertificate({ ...REQUEST, ...request });
  return "fault" in issued ? issued.fault : undefined;
}

function verify(certificate: string, anchor: string = ca.certificate, now: number = NOW) {
  const { raw } = new X509Certificate(certificate);
  return verifyClientCertificate([raw], [new X509Certificate(anchor)], now);
}

/** What stock OpenSSL says about a certificate. */
function openssl(certificate: string, ...args: readonly string[]): string {
  const directory = makeDirectory({ "cert.pem": certificate, "ca.pem": ca.certificate });
  const file = join(directory, "cert.pem");
  return execFileSync("openssl", [...args, file], { cwd: directory, stdio: "pipe" }).toString();
}

describe("issueAgentCertificate", () => {
  it("writes what a server reads", () => {
    const { certificate } = issue({
      ownerId: "owner-1",
      scopes: ["calendar:read", "booking:*", "booking:*"],
      governanceZone: "zone:eu",
      trustTier: 2,
      archetype: "Assistentin für Reisen",
    });
    expect(verify(certificate)).toMatchObject({
      agent: {
        agentId: AGENT_ID,
        ownerId: "owner-1",
        scopes: ["booking:*", "calendar:read"],
        governanceZone: "zone:eu",
        trustTier: 2,
        archetype: "Assistentin für Reisen",
      },
    });
  });

  it("writes a commitment to no scope, and leaves out what is not asked for", () => {
    expect(verify(issue({ scopes: [] }).certificate)).toMatchObject({ agent: { scopes: [] } });
    expect(verify(issue().certificate)).toMatchObject({
      agent: { ownerId: undefined, scopes: undefined, trustTier: undefined },
    });
  });

  it("is understood by OpenSSL but for what it does not know", () => {
    const { certificate } = issue({ ownerId: "owner-1", scopes: ["a:b"], trustTier: 1 });
    const text = openssl(certificate, "x509", "-noout", "-text", "-in");
    expect(text).toContain("Subject: O = Acme Retail, CN = lauren");
    expect(text).toContain("Issuer: CN = Acme Agents");
    expect(text).toMatch(/X509v3 Basic Constraints: critical\s+CA:FALSE/);
    expect(text).toMatch(/X509v3 Key Usage: critical\s+Digital Signature\n/);
    expect(text).toMatch(/X509v3 Extended Key Usage: \s+TLS Web Client Authentication/);
    expect(text).toMatch(/2\.25\.268315605531543067570885820853135175300: critical\s+0123456789/);
    expect(text).toMatch(/2\.25\.1702125237121760683219637876567909613: critical\s+owner-1/);
    expect(text).toMatch(/2\.25\.282163161526436136340860154693646256049: critical\s+a:b/);
    expect(text).toMatch(/2\.25\.198335757712203466569903271149789286606: \n/);
    const options = ["-CAfile", "ca.pem", "-ignore_critical", "-attime", `${NOW / 1000}`];
    const verified = openssl(certificate, "verify", ...options);
    expect(verified).toMatch(/: OK\n$/);
  });

  it("makes a key of the kind that is asked for, whose certificate it is", () => {
    for (const keyKind of ["p256", "ed25519"] as const) {
      const { certificate, key } = issue({ keyKind });
      expect(new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))).toBe(true);
      expect(createPrivateKey(key).asymmetricKeyType).toBe(keyKind === "p256" ? "ec" : keyKind);
    }
  });

  it("certifies a key that is there, and has no private key of it then", () => {
    const { publicKey } = generateKeyPairSync("ed25519");
    const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
    const issued = issueAgentCertificate({ ...REQUEST, publicKey: pem });
    if ("fault" in issued) throw new Error(issued.fault);
    expect(issued.key).toBeUndefined();
    expect(new X509Certificate(issued.certificate).publicKey.equals(createPublicKey(pem))).toBe(
      true,
    );
  });

  it("is valid for 90 days unless it is asked for less, and never longer than its CA", () => {
    const lifetime = (certificate: string): number => {
      const fields = describeCertificate(new X509Certificate(certificate));
      if ("fault" in fields) throw new Error(fields.fault);
      return (fields.notAfter - fields.notBefore) / DAY_MS;
    };
    expect(lifetime(issue().certificate)).toBe(90);
    expect(lifetime(issue({ days: 1 }).certificate)).toBe(1);
    const short = made(makeAgentCa({ name: "short", days: 7, now: NOW }));
    const below = { caKey: short.key, caCert: short.certificate };
    expect(lifetime(issue(below).certificate)).toBe(7);
  });

  it("gives each certificate a serial number of its own", () => {
    const serials = [1, 2, 3].map(() => new X509Certificate(issue().certificate).serialNumber);
    expect(new Set(serials).size).toBe(3);
    for (const serial of serials) expect(serial).toMatch(/^[4-7][0-9A-F]{31}$/);
  });

  it.each([
    [{ agentId: "abc" }, /^the agent id must be 64 lower-case hex characters, got "abc"$/],
    [{ ownerId: "a b" }, /^the owner id must be/],
    [{ scopes: ["a:b", "c"] }, /^a scope must be two or more segments joined by :, got "c"$/],
    [{ scopes: new Array(257).fill("a:b") }, /^the scopes must be at most 256, got 257$/],
    [{ governanceZone: "eu" }, /^the governance zone must be zone: and/],
    [{ archetype: "\n" }, /^the archetype must be/],
    [{ name: "" }, /^the name must be 1 to 64 characters, got ""$/],
    [{ name: "a\0" }, /^the name must be/],
    [{ organization: "o".repeat(65) }, /^the organization must be/],
    [{ days: 0 }, /^the days must be 1 to 90, got 0$/],
    [{ days: 91 }, /^the days must be 1 to 90, got 91$/],
    [{ days: 1.5 }, /^the days/],
    [{ publicKey: "nonsense" }, /^the public key must be one in PEM$/],
    [{ caKey: "nonsense" }, /^the CA's key must be a private key in PEM$/],
    [{ caCert: "nonsense" }, /^the CA's certificate must be one in PEM$/],
    [
      { now: NOW + 400 * DAY_MS },
      /^the certificate was issued by a CA that expired|^the certificate expired/,
    ],
  ] satisfies readonly [Partial<AgentCertificateRequest>, RegExp][])(
    "refuses %j",
    (request, fault) => expect(faultIn(request)).toMatch(fault),
  );

  it("refuses a trust tier that there is not", () => {
    expect(faultIn({ trustTier: 4 as 3 })).toMatch(/^the trust tier must be 1, 2 or 3, got 4$/);
  });

  it("refuses a CA with another key, or that is none", () => {
    const other = made(makeAgentCa({ name: "other", days: 30, now: NOW }));
    expect(faultIn({ caKey: other.key })).toBe("the CA's key must be that of its certificate");
    const agent = issue();
    expect(faultIn({ caKey: agent.key, caCert: agent.certificate })).toBe(
      "the certificate was issued by a CA that is no CA by its basicConstraints",
    );
  });

  it("refuses to certify a key that no server takes", () => {
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
    expect(faultIn({ publicKey: pem })).toMatch(/^the certificate has an RSA key of 1024 bits/);
  });
});

describe("issueAgentCertificate, with a CA of stock OpenSSL", () => {
  let pki: OpensslPki;
  beforeAll(() => {
    pki = new OpensslPki();
  });
  afterAll(() => pki.remove());

  it.each(["p256", "ed25519", "rsa:2048"] as const)("signs with a key of %s", (key) => {
    const { cert, key: caKey } = pki.make(`ca-${key}`, { extensions: CA_EXTENSIONS, key });
    const { certificate } = issue({ caKey, caCert: cert });
    expect(verify(certificate, cert)).toMatchObject({ agent: { agentId: AGENT_ID } });
    const issuer = new X509Certificate(cert);
    // Names and key identifiers, as OpenSSL compares them.
    expect(new X509Certificate(certificate).checkIssued(issuer)).toBe(true);
  });
});

describe("makeAgentCa", () => {
  it("makes a CA that OpenSSL takes for one, with no CA below it", () => {
    const text = openssl(ca.certificate, "x509", "-noout", "-text", "-in");
    expect(text).toMatch(/X509v3 Basic Constraints: critical\s+CA:TRUE, pathlen:0/);
    expect(text).toMatch(/X509v3 Key Usage: critical\s+Certificate Sign, CRL Sign/);
    const certificate = new X509Certificate(ca.certificate);
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkIssued(certificate)).toBe(true);
  });

  it.each([
    [{ name: "", days: 1 }, /^the name must be 1 to 64 characters/],
    [{ name: "x", days: 0 }, /^the days must be 1 to 3650, got 0$/],
    [{ name: "x", days: 3651 }, /^the days/],
  ])("refuses %j", (request, fault) => {
    const issued = makeAgentCa(request);
    expect("fault" in issued ? issued.fault : "").toMatch(fault);
  });
});
