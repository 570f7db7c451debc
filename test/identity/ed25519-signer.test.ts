/** Who signs records: always the signature that the key makes, whichever library makes it. */

import { generateKeyPairSync, sign, verify } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEd25519Signer, loadSodium, type Sodium } from "../../src/state/records/sealer.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");

/** libsodium, counting what it is asked to sign, or signing something else. */
function observed({ isWrong = false } = {}) {
  const sodium = loadSodium();
  let count = 0;
  const load = (): Sodium | undefined =>
    sodium && {
      sodium_malloc: (octets) => sodium.sodium_malloc(octets),
      sodium_memzero: (octets) => sodium.sodium_memzero(octets),
      crypto_sign_seed_keypair: (...parts) => sodium.crypto_sign_seed_keypair(...parts),
      crypto_sign_detached: (signature, message, secretKey) => {
        count += 1;
        sodium.crypto_sign_detached(signature, isWrong ? Buffer.from("else") : message, secretKey);
      },
    };
  return { load, signed: () => count };
}

// RFC 8032 §5.1.6
describe("an Ed25519 signer", () => {
  it("makes the signature of its key, whatever is signed", () => {
    const signer = createEd25519Signer(privateKey);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), (octets) => {
        const signature = signer(octets);
        expect(signature.equals(sign(null, octets, privateKey))).toBe(true);
        expect(verify(null, octets, publicKey, signature)).toBe(true);
      }),
    );
  });

  it("keeps keys apart", () => {
    const other = generateKeyPairSync("ed25519");
    const signers = [createEd25519Signer(privateKey), createEd25519Signer(other.privateKey)];
    const octets = Buffer.from("one text");
    const signatures = signers.map((signer) => Buffer.from(signer(octets)));
    const keys = [publicKey, other.publicKey];
    expect(signatures.map((one) => keys.map((key) => verify(null, octets, key, one)))).toEqual([
      [true, false],
      [false, true],
    ]);
  });

  it("leaves the key as it is", () => {
    const before = privateKey.export({ type: "pkcs8", format: "pem" });
    createEd25519Signer(privateKey)(Buffer.from("one text"));
    expect(privateKey.export({ type: "pkcs8", format: "pem" })).toBe(before);
  });

  it("does without libsodium where there is none", () => {
    const signer = createEd25519Signer(privateKey, () => undefined);
    const octets = Buffer.from("one text");
    expect(signer(octets).equals(sign(null, octets, privateKey))).toBe(true);
  });

  it.runIf(loadSodium())("has libsodium sign where it is there", () => {
    const { load, signed } = observed();
    const signer = createEd25519Signer(privateKey, load);
    const before = signed();
    signer(Buffer.from("one text"));
    expect(signed()).toBe(before + 1);
  });

  it.runIf(loadSodium())("does without a libsodium that signs something else", () => {
    const { load, signed } = observed({ isWrong: true });
    const signer = createEd25519Signer(privateKey, load);
    const before = signed();
    const octets = Buffer.from("one text");
    expect(signer(octets).equals(sign(null, octets, privateKey))).toBe(true);
    expect(signed()).toBe(before);
  });

  it("has a libsodium on the platforms that most servers are", () => {
    const header = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
    const isGlibc = header.header?.glibcVersionRuntime !== undefined;
    const isCommon = process.platform === "linux" && isGlibc && /^(x64|arm64)$/.test(process.arch);
    expect(loadSodium() !== undefined || !isCommon).toBe(true);
  });
});
