import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  publicKeyOf,
  readPrivateKey,
  readPublicKey,
  signDetached,
  verifyDetached,
} from "../../src/identity/ed25519.ts";
import { ISSUER, STRANGER } from "../support/genesis.ts";

// RFC 8032 §7.1, test 2
const SEED = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
const PUBLIC = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
const SIGNATURE =
  "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";
const OCTETS = Buffer.from("72", "hex");

const text = (hex: string): string => Buffer.from(hex, "hex").toString("base64url");
const other = generateKeyPairSync("ec", { namedCurve: "P-256" });

describe("readPublicKey", () => {
  // RFC 8032 §5.1.3; a signature of them is good for any text
  it.each([
    `00${"00".repeat(31)}`,
    `01${"00".repeat(31)}`,
    `01${"00".repeat(30)}80`,
    `ec${"ff".repeat(30)}7f`,
    `ee${"ff".repeat(31)}`,
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  ])("reads no point of small order: %s", (hex) => {
    expect(readPublicKey(text(hex))).toBeUndefined();
  });

  it("reads one key from PEM and from base64url, padded or not", () => {
    const keys = [ISSUER.text, `${ISSUER.text}=`, ISSUER.pem, `\n${ISSUER.pem.trim()}`];
    const read = keys.map((key) => readPublicKey(key));
    expect(read.map((key) => key?.text)).toEqual(keys.map(() => ISSUER.text));
    expect(new Set(read.map((key) => key?.fingerprint)).size).toBe(1);
  });

  it("gives nothing for what is no Ed25519 public key", () => {
    const pem = String(other.publicKey.export({ format: "pem", type: "spki" }));
    const secret = String(ISSUER.privateKey.export({ format: "pem", type: "pkcs8" }));
    for (const wrong of ["", "x", pem, secret, ISSUER.pem.slice(0, 60), `${ISSUER.text}==`]) {
      expect(readPublicKey(wrong), wrong).toBeUndefined();
    }
  });
});

describe("publicKeyOf", () => {
  it("is the public half of a private key, and nothing of another algorithm", () => {
    expect(publicKeyOf(ISSUER.privateKey)?.text).toBe(ISSUER.text);
    expect(publicKeyOf(ISSUER.publicKey.key)?.text).toBe(ISSUER.text);
    expect(publicKeyOf(other.privateKey)).toBeUndefined();
  });
});

describe("readPrivateKey", () => {
  it("reads an Ed25519 key and nothing else", () => {
    const pem = (key: typeof ISSUER.privateKey): string =>
      String(key.export({ format: "pem", type: "pkcs8" }));
    expect(readPrivateKey(pem(ISSUER.privateKey))?.asymmetricKeyType).toBe("ed25519");
    for (const wrong of [pem(other.privateKey), ISSUER.pem, "", "x"]) {
      expect(readPrivateKey(wrong)).toBeUndefined();
    }
  });
});

describe("verifyDetached", () => {
  it("verifies the signature of the standard's own example", () => {
    const der = Buffer.from(`302e020100300506032b657004220420${SEED}`, "hex").toString("base64");
    const key = readPrivateKey(`-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`);
    expect(publicKeyOf(key!)?.text).toBe(text(PUBLIC));
    expect(signDetached(key!, OCTETS)).toBe(text(SIGNATURE));
    expect(verifyDetached(readPublicKey(text(PUBLIC))!, OCTETS, text(SIGNATURE))).toBe(true);
  });

  it("verifies nothing else", () => {
    const signature = signDetached(ISSUER.privateKey, OCTETS);
    const { publicKey } = ISSUER;
    expect(verifyDetached(publicKey, OCTETS, `${signature}==`)).toBe(true);
    expect(verifyDetached(STRANGER.publicKey, OCTETS, signature)).toBe(false);
    expect(verifyDetached(publicKey, Buffer.from("73", "hex"), signature)).toBe(false);
    for (const wrong of ["", "=", signature.slice(1), `${signature}=`, `${signature}A`]) {
      expect(verifyDetached(publicKey, OCTETS, wrong), wrong).toBe(false);
    }
  });

  it("takes one spelling of the last digit alone", () => {
    const signature = sign(null, OCTETS, ISSUER.privateKey).toString("base64url");
    const digits = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"];
    const taken = digits.filter((digit) =>
      verifyDetached(ISSUER.publicKey, OCTETS, signature.slice(0, -1) + digit),
    );
    expect(taken).toEqual([signature.at(-1)]);
  });
});
