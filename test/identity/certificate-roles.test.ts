import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { AgentExtensionOid } from "../../src/identity/certificate-agent-extensions.ts";
import {
  DerTag,
  encodeElement,
  encodeOid,
  encodeSequence,
  readElement,
} from "../../src/identity/certificate-der.ts";
import {
  checkCriticalExtensions,
  checkKey,
  checkSignatureAlgorithm,
  readConstraints,
} from "../../src/identity/certificate-roles.ts";
import { cpuMs } from "../support/cpu-time.ts";

const SHA1 = "1.3.14.3.2.26";
const SHA256 = "2.16.840.1.101.3.4.2.1";
const MGF1 = "1.2.840.113549.1.1.8";

function check(...parts: readonly Buffer[]) {
  const element = readElement(encodeSequence(...parts));
  if (element === undefined) throw new Error("the algorithm is not well-formed");
  return checkSignatureAlgorithm(element);
}

function hash(oid: string): Buffer {
  return encodeElement(DerTag.context0, encodeSequence(encodeOid(oid)));
}

function mask(kind: string, oid: string): Buffer {
  const algorithm = encodeSequence(encodeOid(kind), encodeSequence(encodeOid(oid)));
  return encodeElement(DerTag.context1, algorithm);
}

describe("checkSignatureAlgorithm", () => {
  it.each([
    "1.2.840.113549.1.1.11",
    "1.2.840.113549.1.1.13",
    "1.2.840.10045.4.3.2",
    "1.2.840.10045.4.3.4",
    "1.3.101.112",
  ])("takes %s", (oid) => expect(check(encodeOid(oid))).toBeUndefined());

  it.each([
    ["MD5 with RSA", "1.2.840.113549.1.1.4"],
    ["SHA-1 with RSA", "1.2.840.113549.1.1.5"],
    ["SHA-1 with ECDSA", "1.2.840.10045.4.1"],
    ["SHA-1 with DSA", "1.2.840.10040.4.3"],
    ["one that nobody knows", "1.2.3"],
  ])("refuses %s", (_, oid) => {
    const fault = `is signed with an algorithm that is not accepted, ${oid}`;
    expect(check(encodeOid(oid))).toEqual({ fault });
  });

  // RFC 4055 §3.1
  it.each([
    ["SHA-256 in both places", [hash(SHA256), mask(MGF1, SHA256)], true],
    ["SHA-1 by default", [], false],
    ["SHA-1 as the hash", [hash(SHA1), mask(MGF1, SHA256)], false],
    ["SHA-1 as the hash by default", [mask(MGF1, SHA256)], false],
    ["SHA-1 in the mask", [hash(SHA256), mask(MGF1, SHA1)], false],
    ["SHA-1 in the mask by default", [hash(SHA256)], false],
    ["another mask", [hash(SHA256), mask("1.2.3", SHA256)], false],
  ])("judges RSASSA-PSS by its hashes: %s", (_, parameters, isTaken) => {
    const fault = check(encodeOid("1.2.840.113549.1.1.10"), encodeSequence(...parameters));
    expect(fault === undefined).toBe(isTaken);
  });

  it("refuses RSASSA-PSS without parameters, and an algorithm without a name", () => {
    expect(check(encodeOid("1.2.840.113549.1.1.10"))).toHaveProperty("fault");
    expect(check()).toEqual({ fault: "is not well-formed" });
  });
});

describe("checkKey", () => {
  it.each(["P-256", "P-384", "P-521"])("takes a key on %s", (namedCurve) => {
    expect(checkKey(generateKeyPairSync("ec", { namedCurve }).publicKey)).toBeUndefined();
  });

  it.each([
    ["secp256k1", generateKeyPairSync("ec", { namedCurve: "secp256k1" }), "secp256k1"],
    ["X25519", generateKeyPairSync("x25519"), "x25519"],
  ])("refuses a key of %s", (_, { publicKey }, name) => {
    expect(checkKey(publicKey)).toEqual({ fault: `has a key that is not accepted, ${name}` });
  });

  it("takes Ed25519, and RSA of 2048 bits but not of fewer", () => {
    expect(checkKey(generateKeyPairSync("ed25519").publicKey)).toBeUndefined();
    const bits = (modulusLength: number) =>
      checkKey(generateKeyPairSync("rsa", { modulusLength }).publicKey);
    expect(bits(2048)).toBeUndefined();
    expect(bits(1024)).toEqual({ fault: "has an RSA key of 1024 bits, not of 2048 to 8192" });
  });

  it("refuses an RSA key whose exponent is as long as a certificate may be, without computing it", () => {
    const { n = "" } = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({
      format: "jwk",
    });
    const e = Buffer.alloc(60_000, 0xff).toString("base64url");
    const key = createPublicKey({ key: { kty: "RSA", n, e }, format: "jwk" });
    const before = cpuMs();
    expect(checkKey(key)).toEqual({ fault: "has an RSA key that is longer than one of 8192 bits" });
    // Node takes more than a second.
    expect(cpuMs() - before).toBeLessThan(500);
  });
});

type Standard = "basicConstraints" | "keyUsage" | "extKeyUsage";

const OIDS: Readonly<Record<Standard, string>> = {
  basicConstraints: "2.5.29.19",
  keyUsage: "2.5.29.15",
  extKeyUsage: "2.5.29.37",
};

function constraints(values: Readonly<Partial<Record<Standard, string>>>) {
  const entries = Object.entries(values).map(([name, hex]) => {
    const value = Buffer.from(hex.replaceAll(" ", ""), "hex");
    return [OIDS[name as Standard], { isCritical: true, value }] as const;
  });
  return readConstraints(new Map(entries));
}

// RFC 5280 §4.2.1.3, §4.2.1.9, §4.2.1.12
describe("readConstraints", () => {
  it("finds nothing forbidden, and no CA, without extensions", () => {
    expect(constraints({})).toEqual({
      isAuthority: false,
      pathLength: undefined,
      maySign: true,
      maySignCertificates: true,
      mayAuthenticateClients: true,
    });
  });

  it.each([
    ["30 00", false, undefined],
    ["30 03 0101ff", true, undefined],
    ["30 06 0101ff 020100", true, 0],
    ["30 07 0101ff 02020080", true, 128],
  ])("reads basicConstraints %s", (basicConstraints, isAuthority, pathLength) => {
    expect(constraints({ basicConstraints })).toMatchObject({ isAuthority, pathLength });
  });

  it.each([
    ["03 02 0780", true, false],
    ["03 02 0106", false, true],
    ["03 02 0204", false, true],
    ["03 02 0186", true, true],
    ["03 03 070080", false, false],
  ])("reads keyUsage %s", (keyUsage, maySign, maySignCertificates) => {
    expect(constraints({ keyUsage })).toMatchObject({ maySign, maySignCertificates });
  });

  it.each([
    ["30 0a 0608 2b06010505070302", true],
    ["30 0a 0608 2b06010505070301", false],
    ["30 06 0604 551d2500", true],
  ])("reads extKeyUsage %s", (extKeyUsage, mayAuthenticateClients) => {
    expect(constraints({ extKeyUsage })).toMatchObject({ mayAuthenticateClients });
  });

  it.each([
    ["basicConstraints", ""],
    ["basicConstraints", "30 03 010100"],
    ["basicConstraints", "30 03 020100"],
    ["basicConstraints", "30 06 0101ff 0201ff"],
    ["basicConstraints", "30 0a 0101ff 02050100000000"],
    ["basicConstraints", "30 09 0101ff 020100 020100"],
    ["basicConstraints", "30 00 00"],
    ["basicConstraints", "30 02 0101"],
    ["keyUsage", "03 00"],
    ["keyUsage", "03 01 00"],
    ["keyUsage", "03 02 0880"],
    ["keyUsage", "03 04 00ffffff"],
    ["keyUsage", "04 02 0780"],
    ["extKeyUsage", "30 00"],
    ["extKeyUsage", "30 02 0500"],
    ["extKeyUsage", "0608 2b06010505070302"],
  ] as const)("finds the fault in %s: %s", (name, value) => {
    expect(constraints({ [name]: value })).toEqual({ fault: `has a malformed ${name} extension` });
  });
});

describe("checkCriticalExtensions", () => {
  const check = (oid: string, role: "client" | "issuer", isCritical = true) =>
    checkCriticalExtensions(new Map([[oid, { isCritical, value: Buffer.alloc(0) }]]), role);

  it.each(["2.5.29.15", "2.5.29.17", "2.5.29.19", "2.5.29.37"])("knows %s", (oid) => {
    expect(check(oid, "client")).toBeUndefined();
    expect(check(oid, "issuer")).toBeUndefined();
  });

  it.each(["2.5.29.30", "2.5.29.32", "2.5.29.36", "2.5.29.54", "1.2.3"])(
    "does not know %s, which matters when it is critical",
    (oid) => {
      const fault = `has a critical extension that is not known here, ${oid}`;
      expect(check(oid, "client")).toEqual({ fault });
      expect(check(oid, "issuer")).toEqual({ fault });
      expect(check(oid, "client", false)).toBeUndefined();
    },
  );

  it("knows those of an agent, in an agent's certificate", () => {
    for (const oid of Object.values(AgentExtensionOid).flat()) {
      expect(check(oid, "client")).toBeUndefined();
      expect(check(oid, "issuer")).toBeDefined();
    }
  });
});
