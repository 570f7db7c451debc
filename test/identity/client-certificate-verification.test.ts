import { createHash, X509Certificate } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentExtensionOid } from "../../src/identity/certificate-agent-extensions.ts";
import { issueAgentCertificate, makeAgentCa } from "../../src/identity/certificate-authority.ts";
import type { ClientCertificate } from "../../src/identity/client-certificate.ts";
import {
  checkTrustAnchor,
  readTrustAnchors,
  verifyClientCertificate,
} from "../../src/identity/client-certificate-verification.ts";
import {
  agentExtensions,
  CA_EXTENSIONS,
  type CertificateOptions,
  CLIENT_EXTENSIONS,
  critical,
  type OpensslCertificate,
  OpensslPki,
} from "../support/openssl-pki.ts";

const NOW = Date.UTC(2026, 0, 1);
const AGENT_ID = "0123456789abcdef".repeat(4);
const OTHER_ID = "f".repeat(64);
const AGENT = [...CLIENT_EXTENSIONS, ...agentExtensions(AGENT_ID)];

let pki: OpensslPki;
let root: OpensslCertificate;
let intermediate: OpensslCertificate;
let agent: OpensslCertificate;

beforeAll(() => {
  pki = new OpensslPki();
  root = pki.make("root", { extensions: CA_EXTENSIONS });
  intermediate = pki.make("intermediate", { issuer: "root", extensions: CA_EXTENSIONS });
  agent = pki.make("agent", { issuer: "intermediate", extensions: AGENT });
});
afterAll(() => pki.remove());

type Verification = ReturnType<typeof verifyClientCertificate>;

/** Verifies certificates as they would be sent. */
function verify(
  chain: readonly OpensslCertificate[],
  anchors: readonly X509Certificate[] = [root.x509],
  now: number = NOW,
): Verification {
  return verifyClientCertificate(
    chain.map(({ der }) => der),
    anchors,
    now,
  );
}

/** Makes a client certificate under the root, and verifies it. */
function verifyClient(name: string, options: CertificateOptions): Verification {
  return verify([pki.make(name, { issuer: "root", extensions: AGENT, ...options })]);
}

/** Makes a CA under the root with a client under it, and verifies that. */
function verifyUnder(name: string, ca: CertificateOptions): Verification {
  const issuer = pki.make(`${name}-ca`, { issuer: "root", extensions: CA_EXTENSIONS, ...ca });
  const client = pki.make(`${name}-client`, { issuer: `${name}-ca`, extensions: AGENT });
  return verify([client, issuer]);
}

function faultOf(verification: Verification): string | undefined {
  return "fault" in verification ? verification.fault : undefined;
}

function proven(verification: Verification): ClientCertificate {
  if ("fault" in verification) throw new Error(verification.fault);
  return verification;
}

describe("verifyClientCertificate", () => {
  it("believes an agent certificate of stock OpenSSL over an intermediate CA", () => {
    expect(proven(verify([agent, intermediate])).agent).toEqual({
      agentId: AGENT_ID,
      ownerId: undefined,
      scopes: undefined,
      governanceZone: undefined,
      trustTier: undefined,
      archetype: undefined,
    });
  });

  it("takes the others in any order, the root and strangers among them", () => {
    const stranger = pki.make("stranger", { extensions: CA_EXTENSIONS });
    expect(proven(verify([agent, stranger, root, intermediate])).agent?.agentId).toBe(AGENT_ID);
  });

  it("trusts an intermediate CA that is configured as such", () => {
    expect(proven(verify([agent], [intermediate.x509])).agent?.agentId).toBe(AGENT_ID);
  });

  it.each(["p256", "ed25519", "rsa:2048", "rsa-pss:2048"] as const)("takes a key of %s", (key) => {
    const client = pki.make(`client-${key}`, { issuer: "root", extensions: AGENT, key });
    expect(proven(verify([client])).agent?.agentId).toBe(AGENT_ID);
  });

  it.each(["ed25519", "rsa:2048", "rsa-pss:2048"] as const)("takes a CA's key of %s", (key) => {
    const options = key === "rsa-pss:2048" ? { digest: "sha256" as const } : {};
    const ca = pki.make(`ca-${key}`, { extensions: CA_EXTENSIONS, key, ...options });
    const issuer = `ca-${key}`;
    const client = pki.make(`under-${key}`, { issuer, extensions: AGENT, ...options });
    expect(proven(verify([client], [ca.x509])).agent?.agentId).toBe(AGENT_ID);
  });

  it("identifies the certificate, its key and its serial number", () => {
    const { x509, der } = agent;
    const spki = x509.publicKey.export({ type: "spki", format: "der" });
    expect(verify([agent, intermediate])).toMatchObject({
      serialNumber: x509.serialNumber.toLowerCase().replace(/^0+/, ""),
      fingerprint: x509.fingerprint256.replaceAll(":", "").toLowerCase(),
      keyFingerprint: createHash("sha256").update(spki).digest("hex"),
      spkiFingerprint: createHash("sha256").update(spki).digest("hex"),
      notAfter: Date.UTC(2070, 0, 1),
    });
    expect(createHash("sha256").update(der).digest("hex")).toBe(
      proven(verify([agent, intermediate])).fingerprint,
    );
  });

  it("identifies an Ed25519 key by its raw octets as well", () => {
    const client = pki.make("raw-key", { issuer: "root", key: "ed25519" });
    const spki = client.x509.publicKey.export({ type: "spki", format: "der" });
    const verified = proven(verify([client]));
    expect(verified.keyFingerprint).toBe(
      createHash("sha256").update(spki.subarray(-32)).digest("hex"),
    );
    expect(verified.spkiFingerprint).toBe(createHash("sha256").update(spki).digest("hex"));
  });

  it("ends with the first certificate of the path that expires", () => {
    const ca = { extensions: CA_EXTENSIONS, notAfter: "20300101000000Z" };
    expect(proven(verifyUnder("short", ca)).notAfter).toBe(Date.UTC(2030, 0, 1));
  });

  it("knows a plain certificate by its lack of agent extensions", () => {
    expect(proven(verifyClient("plain", { extensions: CLIENT_EXTENSIONS })).agent).toBeUndefined();
  });

  it("takes a certificate without any extension, of X.509 version 1", () => {
    const client = pki.make("version-1", { issuer: "root", extensions: [] });
    expect(client.x509.toString()).not.toBe("");
    expect(proven(verify([client])).agent).toBeUndefined();
  });
});

describe("verifyClientCertificate, of the path", () => {
  it.each([
    ["no intermediate CA", () => verify([agent])],
    ["another CA", () => verify([agent, intermediate], [pki.make("other", ROOT).x509])],
    ["no CA at all", () => verify([agent, intermediate], [])],
  ])("refuses a certificate with %s", (_, verification) => {
    expect(faultOf(verification())).toBe("was not issued by a CA that this server trusts");
  });

  it("refuses one that a namesake of the CA signed", () => {
    pki.make("impostor", { ...ROOT, subject: "root" });
    const extensions = AGENT.filter((line) => !line.startsWith("authorityKey"));
    const client = pki.make("forged", { issuer: "impostor", extensions });
    expect(client.x509.issuer).toBe(root.x509.subject);
    expect(faultOf(verify([client]))).toMatch(/^was not issued/);
    expect(faultOf(verify([client, pki.read("impostor")]))).toMatch(/^was not issued/);
  });

  it("refuses an empty chain, a long one, and one with a huge certificate", () => {
    expect(faultOf(verify([]))).toBe("is not well-formed");
    expect(proven(verify([agent, ...new Array(7).fill(intermediate)])).agent).toBeDefined();
    expect(faultOf(verify([agent, ...new Array(8).fill(intermediate)]))).toMatch(/more than 7/);
    const huge = { ...agent, der: Buffer.alloc(65_537, 0x30) };
    expect(faultOf(verify([huge]))).toMatch(/longer than 65536 bytes/);
    expect(faultOf(verify([agent, huge]))).toMatch(/longer than 65536 bytes/);
  });

  it("ignores a sent certificate that is none", () => {
    const garbage = { ...agent, der: Buffer.from("garbage") };
    expect(proven(verify([agent, garbage, intermediate])).agent).toBeDefined();
  });

  it.each([
    ["no CA", { extensions: CLIENT_EXTENSIONS }, /a CA that is no CA by its basicConstraints/],
    ["without basicConstraints", { extensions: ["keyUsage = keyCertSign"] }, /no CA/],
    [
      "may not sign certificates",
      { extensions: ["basicConstraints = critical, CA:TRUE", "keyUsage = critical, cRLSign"] },
      /a CA that may not sign certificates by its keyUsage/,
    ],
    ["expired", { notAfter: "20250101000000Z" }, /a CA that expired at 2025-01-01T00:00:00/],
    ["not valid yet", { notBefore: "20270101000000Z" }, /not valid before 2027-01-01T00:00:00/],
    ["weak", { key: "rsa:1024" }, /an RSA key of 1024 bits, not of 2048 to 8192/],
    ["on another curve", { key: "secp256k1" }, /a key that is not accepted, secp256k1/],
    ["signed with SHA-1", { digest: "sha1" }, /an algorithm that is not accepted, 1.2.840.10045/],
    [
      "for servers",
      { extensions: [...CA_EXTENSIONS, "extendedKeyUsage = serverAuth"] },
      /a CA that is not for authenticating clients/,
    ],
    [
      "held to names",
      {
        extensions: [...CA_EXTENSIONS, "nameConstraints = critical, permitted;DNS:example.com"],
      },
      /a critical extension that is not known here, 2\.5\.29\.30/,
    ],
    [
      "held to policies",
      { extensions: [...CA_EXTENSIONS, "policyConstraints = critical, inhibitPolicyMapping:0"] },
      /a critical extension that is not known here, 2\.5\.29\.36/,
    ],
    [
      "with an agent's critical extension",
      { extensions: [...CA_EXTENSIONS, ...agentExtensions(OTHER_ID)] },
      /a critical extension that is not known here, 2\.25\.268315605531543067570885820853135175300/,
    ],
  ] as const)("refuses a certificate below an intermediate CA: %s", (name, ca, fault) => {
    expect(faultOf(verifyUnder(name.replaceAll(" ", "-"), ca))).toMatch(fault);
  });

  it("keeps to the path length of every CA", () => {
    const limited = ["basicConstraints = critical, CA:TRUE, pathlen:0"];
    const top = pki.make("limited-root", { extensions: limited });
    const issuer = "limited-root";
    const direct = pki.make("limited-direct", { issuer, extensions: AGENT });
    expect(proven(verify([direct], [top.x509])).agent).toBeDefined();
    const middle = pki.make("limited-ca", { issuer, extensions: CA_EXTENSIONS });
    const client = pki.make("limited-client", { issuer: "limited-ca", extensions: AGENT });
    expect(faultOf(verify([client, middle], [top.x509]))).toBe(
      "was issued by a CA that allows 0 CAs below it, not 1",
    );
    expect(proven(verify([client, middle], [middle.x509])).agent).toBeDefined();
  });

  it.each([
    ["expired", { notAfter: "20250101000000Z" }, "expired at 2025-01-01T00:00:00.000Z"],
    ["too young", { notBefore: "20270101000000Z" }, /^is not valid before 2027-01-01T00:00:00/],
    ["weak", { key: "rsa:1024" }, /an RSA key of 1024 bits/],
    ["of SHA-1", { digest: "sha1" }, /an algorithm that is not accepted, 1\.2\.840\.10045\.4\.1/],
    [
      "for servers",
      { extensions: ["extendedKeyUsage = serverAuth"] },
      "is not for authenticating clients",
    ],
    ["no signer", { extensions: ["keyUsage = keyAgreement"] }, "has a key that is not for signing"],
    [
      "mysterious",
      { extensions: [...AGENT, critical("1.3.6.1.4.1.99999.1", "\x05\x00")] },
      "has a critical extension that is not known here, 1.3.6.1.4.1.99999.1",
    ],
  ] as const)("refuses a certificate that is itself %s", (name, options, fault) => {
    const found = faultOf(verifyClient(`bad-${name.replaceAll(" ", "-")}`, options));
    expect(found).toEqual(typeof fault === "string" ? fault : expect.stringMatching(fault));
  });

  it("refuses a signature with MD5, by an RSA key", () => {
    const ca = pki.make("rsa-root", { ...ROOT, key: "rsa:2048" });
    const options = { issuer: "rsa-root", extensions: AGENT, digest: "md5" } as const;
    const client = pki.make("md5-client", options);
    expect(faultOf(verify([client], [ca.x509]))).toMatch(
      /not accepted, 1\.2\.840\.113549\.1\.1\.4/,
    );
  });

  it("refuses an RSASSA-PSS signature over SHA-1", () => {
    const ca = pki.make("pss-root", { ...ROOT, key: "rsa:2048", digest: "sha256" });
    const client = pki.make("pss-client", {
      ...{ issuer: "pss-root", extensions: AGENT, digest: "sha1" },
      options: ["-sigopt", "rsa_padding_mode:pss"],
    });
    expect(faultOf(verify([client], [ca.x509]))).toMatch(
      /not accepted, 1\.2\.840\.113549\.1\.1\.10/,
    );
  });

  it.each(["anyExtendedKeyUsage", "serverAuth, clientAuth"])("takes a purpose of %s", (purpose) => {
    const extensions = [`extendedKeyUsage = critical, ${purpose}`];
    expect(proven(verifyClient(`for-${purpose.length}`, { extensions }))).toBeDefined();
  });

  it("passes over an extension that is unknown and not critical", () => {
    const extensions = [...AGENT, "1.3.6.1.4.1.99999.1 = DER:0500", "nsComment = whatever"];
    expect(proven(verifyClient("curious", { extensions })).agent?.agentId).toBe(AGENT_ID);
  });

  it("judges by the time it is given", () => {
    const during = { notBefore: "20260101000000Z", notAfter: "20260102000000Z" };
    const client = pki.make("daily", { issuer: "root", extensions: AGENT, ...during });
    const start = Date.UTC(2026, 0, 1);
    const end = Date.UTC(2026, 0, 2);
    const valid = [start - 1, start, end, end + 1].map(
      (now) => faultOf(verify([client], [root.x509], now)) === undefined,
    );
    expect(valid).toEqual([false, true, true, false]);
  });
});

const ROOT: CertificateOptions = { extensions: CA_EXTENSIONS };

describe("verifyClientCertificate, of a self-signed certificate", () => {
  it("believes one that is an anchor itself", () => {
    const pinned = pki.make("pinned", { extensions: AGENT });
    expect(proven(verify([pinned], [root.x509, pinned.x509])).agent?.agentId).toBe(AGENT_ID);
    expect(faultOf(verify([pinned]))).toMatch(/^was not issued/);
  });

  it("does not believe a namesake of an anchor", () => {
    const extensions = agentExtensions(AGENT_ID);
    const pinned = pki.make("namesake", { extensions });
    const copy = pki.make("namesake-copy", { extensions, subject: "namesake" });
    expect(faultOf(verify([copy], [pinned.x509]))).toMatch(/^was not issued/);
  });

  it("lets it vouch for no other certificate", () => {
    const pinned = pki.make("single", { extensions: [] });
    const client = pki.make("below-single", { issuer: "single", extensions: [] });
    expect(faultOf(verify([client], [pinned.x509]))).toMatch(/no CA by its basicConstraints/);
  });

  it("does not believe one for being an anchor if another signed it", () => {
    expect(faultOf(verify([agent], [agent.x509]))).toMatch(/^was not issued/);
  });

  it("still refuses one that expired", () => {
    const pinned = pki.make("old", { extensions: [], notAfter: "20250101000000Z" });
    expect(faultOf(verify([pinned], [pinned.x509]))).toMatch(/^expired/);
  });
});

describe("verifyClientCertificate, of agent extensions", () => {
  it("reads all of them from a certificate of stock OpenSSL", () => {
    const oid = AgentExtensionOid;
    const extensions = [
      ...CLIENT_EXTENSIONS,
      ...agentExtensions(AGENT_ID, "owner-1", "booking:*,calendar:read"),
      `${oid["governance-zone"][0]} = ASN1:UTF8String:zone:eu`,
      `${oid["trust-tier"][0]} = ASN1:INTEGER:2`,
      `${oid.archetype[0]} = ASN1:UTF8String:assistant`,
    ];
    expect(proven(verifyClient("complete", { extensions })).agent).toEqual({
      agentId: AGENT_ID,
      ownerId: "owner-1",
      scopes: ["booking:*", "calendar:read"],
      governanceZone: "zone:eu",
      trustTier: 2,
      archetype: "assistant",
    });
  });

  it.each(["UTF8String", "PrintableString", "IA5String"])("reads an agent-id as a %s", (type) => {
    const [, renamed] = AgentExtensionOid["agent-id"];
    const extensions = [`${renamed} = critical, ASN1:${type}:${AGENT_ID}`];
    expect(proven(verifyClient(`as-${type}`, { extensions })).agent?.agentId).toBe(AGENT_ID);
  });

  it("takes both object identifiers when they agree, and not when they differ", () => {
    const [known, renamed] = AgentExtensionOid["agent-id"];
    const both = (other: string) => [
      critical(known, AGENT_ID),
      `${renamed} = critical, ASN1:UTF8String:${other}`,
    ];
    const agreed = verifyClient("agreed", { extensions: both(AGENT_ID) });
    expect(proven(agreed).agent?.agentId).toBe(AGENT_ID);
    const differing = verifyClient("differing", { extensions: both(OTHER_ID) });
    expect(faultOf(differing)).toBe("has two agent-id extensions that differ");
  });

  it("refuses a malformed one, critical or not", () => {
    const [oid] = AgentExtensionOid["agent-id"];
    const extensions = [`${oid} = ASN1:UTF8String:${AGENT_ID.toUpperCase()}`];
    expect(faultOf(verifyClient("loud", { extensions }))).toBe(
      "has a malformed agent-id extension",
    );
  });

  it("refuses an owner without an agent", () => {
    const extensions = [critical(AgentExtensionOid["owner-id"][0], "owner-1")];
    expect(faultOf(verifyClient("ownerless", { extensions }))).toBe(
      "has extensions of an agent, but no agent-id",
    );
  });
});

describe("verifyClientCertificate, of a certificate that was tampered with", () => {
  it("never believes it with a byte changed, and never throws", () => {
    const { der } = pki.make("fuzzed", {
      issuer: "root",
      extensions: [...CLIENT_EXTENSIONS, ...agentExtensions(AGENT_ID, "owner-1", "a:b")],
    });
    const anchors = [root.x509];
    const believed: number[] = [];
    for (let place = 0; place < der.length; place += 1) {
      for (const mask of [0x01, 0x20, 0x80, 0xff]) {
        const changed = Buffer.from(der);
        changed[place] = (changed[place] ?? 0) ^ mask;
        const result = verifyClientCertificate([changed], anchors, NOW);
        if (!("fault" in result)) believed.push(place);
      }
    }
    expect(believed).toEqual([]);
    expect(verifyClientCertificate([der], anchors, NOW)).toHaveProperty("agent.agentId", AGENT_ID);
  });

  it("never believes it cut short, or with something after it", () => {
    const { der } = agent;
    const anchors = [intermediate.x509];
    const cuts = [...new Array(40).keys()].map((cut) => der.subarray(0, der.length - 1 - cut * 8));
    for (const changed of [...cuts, Buffer.concat([der, Buffer.from([0])])]) {
      expect(faultOf(verifyClientCertificate([changed], anchors, NOW))).toBe("is not well-formed");
    }
  });

  // Node takes octets with a certificate in PEM anywhere in them for that certificate.
  it("is not misled by another agent's certificate within it", () => {
    const comment = critical("2.5.29.17", `\n${agent.cert}\n`).replace("critical, ", "");
    const attacker = pki.make("attacker", { extensions: [...agentExtensions(OTHER_ID), comment] });
    expect(attacker.der.toString("latin1")).toContain("-----BEGIN CERTIFICATE-----");
    expect(faultOf(verify([attacker, intermediate]))).toBe("is not well-formed");
    expect(faultOf(verify([attacker], [attacker.x509]))).toBeDefined();
  });
});

describe("verifyClientCertificate, of what the issuer here makes", () => {
  it("believes it", () => {
    const ca = makeAgentCa({ name: "agents", days: 30, now: NOW });
    if ("fault" in ca) throw new Error(ca.fault);
    const issued = issueAgentCertificate({
      ...{ agentId: AGENT_ID, name: "lauren", organization: "Acme", now: NOW },
      ...{ caKey: ca.key ?? "", caCert: ca.certificate },
    });
    if ("fault" in issued) throw new Error(issued.fault);
    const anchors = [new X509Certificate(ca.certificate)];
    const { raw } = new X509Certificate(issued.certificate);
    expect(proven(verifyClientCertificate([raw], anchors, NOW)).agent?.agentId).toBe(AGENT_ID);
  });
});

describe("readTrustAnchors", () => {
  it("reads every certificate of a bundle, and nothing between them", () => {
    const other = pki.make("second-root", { extensions: CA_EXTENSIONS });
    const anchors = readTrustAnchors(`# root\n${root.cert}\nsubject=x\n${other.key}${other.cert}`);
    expect(anchors.map(({ subject }) => subject)).toEqual(["CN=root", "CN=second-root"]);
    expect(readTrustAnchors("")).toEqual([]);
  });
});

describe("checkTrustAnchor", () => {
  it("finds nothing wrong with a CA, root or not, and a self-signed client", () => {
    const sub = pki.make("sub", { issuer: "root", extensions: CA_EXTENSIONS });
    const pinned = pki.make("pinned-anchor", { extensions: CLIENT_EXTENSIONS.slice(0, 3) });
    for (const { x509 } of [root, sub, pinned]) expect(checkTrustAnchor(x509, NOW)).toBeUndefined();
  });

  it.each([
    ["a client's that a CA issued", { issuer: "root" }, "is no CA by its basicConstraints"],
    [
      "a CA's that expired",
      { extensions: CA_EXTENSIONS, notAfter: "20250101000000Z" },
      "expired at 2025-01-01T00:00:00.000Z",
    ],
    [
      "a server's that is self-signed",
      { extensions: ["extendedKeyUsage = serverAuth"] },
      "is no CA by its basicConstraints",
    ],
  ])("finds the fault in one that nobody is trusted by: %s", (name, options, fault) => {
    const { x509 } = pki.make(name.replaceAll(/\W/g, "-"), options);
    expect(checkTrustAnchor(x509, NOW)).toEqual({ fault });
  });
});
