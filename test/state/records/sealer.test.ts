import { generateKeyPairSync, sign, verify } from "node:crypto";
import fc from "fast-check";
import { compactVerify } from "jose";
import { describe, expect, it } from "vitest";
import { NO_AUDIT_ID } from "../../../src/state/records/record.ts";
import {
  createEd25519Signer,
  createRecordSigner,
  createSealer,
  loadSodium,
  type Sodium,
  sealAll,
} from "../../../src/state/records/sealer.ts";
import { isSigned, readJws, sha256 } from "../../support/records.ts";

const KEYS = generateKeyPairSync("ed25519");
const SIGNER = createRecordSigner(KEYS.privateKey);

// RFC 7515 §7.1, RFC 8037
describe("createRecordSigner", () => {
  it("signs what anybody's JOSE library verifies", async () => {
    const payload = '{"path":"/caf\u00e9/\u2603"}';
    const verified = await compactVerify(SIGNER.sign(payload), KEYS.publicKey);
    expect(Buffer.from(verified.payload).toString("utf8")).toBe(payload);
    expect(verified.protectedHeader).toMatchObject({ alg: "EdDSA", typ: "JWT" });
  });

  it("signs payloads of any length, one after the other", async () => {
    for (const count of [70_000, 1, 20_000, 2]) {
      const payload = JSON.stringify({ path: "\u2603".repeat(count) });
      const verified = await compactVerify(SIGNER.sign(payload), KEYS.publicKey);
      expect(Buffer.from(verified.payload).toString("utf8") === payload).toBe(true);
    }
  });

  it("signs what plain Ed25519 verifies", () => {
    expect(isSigned(SIGNER.sign('{"a":1}'), KEYS.publicKey)).toBe(true);
    expect(isSigned(SIGNER.sign('{"a":1}'), generateKeyPairSync("ed25519").publicKey)).toBe(false);
  });

  it("names its key by a fingerprint", () => {
    const raw = KEYS.publicKey.export({ format: "jwk" }).x ?? "";
    const fingerprint = sha256(Buffer.from(raw, "base64url"));
    const { header } = readJws(SIGNER.sign("{}"));
    expect(header).toEqual({
      alg: "EdDSA",
      kid: `ed25519-${fingerprint.slice(0, 16)}`,
      typ: "JWT",
    });
    expect(SIGNER.publicKey?.fingerprint).toBe(fingerprint);
  });

  it("says openly that it signs nothing without a key", async () => {
    const signer = createRecordSigner();
    const jws = signer.sign('{"a":1}');
    expect(readJws(jws)).toMatchObject({ header: { alg: "none", typ: "JWT" }, payload: { a: 1 } });
    expect(jws.split(".")).toHaveLength(3);
    expect(jws.endsWith(".")).toBe(true);
    expect(signer.publicKey).toBeUndefined();
    await expect(compactVerify(jws, KEYS.publicKey)).rejects.toThrow();
  });

  it.each(["x25519", "ec", "rsa"])("takes no %s key", (kind) => {
    const { privateKey } =
      kind === "x25519"
        ? generateKeyPairSync("x25519")
        : kind === "ec"
          ? generateKeyPairSync("ec", { namedCurve: "P-256" })
          : generateKeyPairSync("rsa", { modulusLength: 2048 });
    expect(() => createRecordSigner(privateKey)).toThrow("Ed25519");
  });
});

// AGTP-IDENTIFIERS "Attribution Chain"
describe("sealAll", () => {
  const payload = { before: '{"previous_audit_id":"', after: '"}' };

  it("has each record name the one before it in its chain, and no other", () => {
    const head = "f".repeat(64);
    const chains = [0, 1, -1, 0, 1, 0, -1];
    const payloads = chains.map(() => payload);
    const records = sealAll({ payloads, chains, previous: [head, NO_AUDIT_ID] }, SIGNER);
    const previous = records.map(({ jws }) => readJws(jws).payload["previous_audit_id"]);
    const ids = records.map(({ auditId }) => auditId);
    expect(previous).toEqual([
      ...[head, NO_AUDIT_ID, NO_AUDIT_ID, ids[0], ids[1], ids[3]],
      NO_AUDIT_ID,
    ]);
  });

  it("identifies each record by the hash of its JWS", () => {
    const job = { payloads: [payload, payload], chains: [0, 0], previous: [NO_AUDIT_ID] };
    for (const { auditId, jws } of sealAll(job, SIGNER)) expect(auditId).toBe(sha256(jws));
  });

  it("keeps every chain whole, however the payloads are mixed", () => {
    const signer = createRecordSigner();
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1, max: 3 }), { maxLength: 30 }), (chains) => {
        const previous = ["a", "b", "c", "d"].map((digit) => digit.repeat(64));
        const payloads = chains.map(() => payload);
        const heads = [...previous];
        for (const [index, record] of sealAll({ payloads, chains, previous }, signer).entries()) {
          const chain = chains[index] ?? -1;
          const named = readJws(record.jws).payload["previous_audit_id"];
          expect(named).toBe(chain === -1 ? NO_AUDIT_ID : heads[chain]);
          if (chain !== -1) heads[chain] = record.auditId;
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe("createSealer", () => {
  it("seals at once", async () => {
    const sealer = createSealer(SIGNER);
    const job = {
      payloads: [{ before: '{"previous_audit_id":"', after: '"}' }],
      chains: [-1],
      previous: [],
    };
    expect(sealer.seal(job, () => undefined)).toHaveLength(1);
    await sealer.close();
  });
});

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
