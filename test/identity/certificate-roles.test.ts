import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  DerTag,
  encodeElement,
  encodeOid,
  encodeSequence,
  readElement,
} from "../../src/identity/certificate-der.ts";
import { checkKey, checkSignatureAlgorithm } from "../../src/identity/certificate-roles.ts";

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
});
