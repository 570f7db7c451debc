import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JWK } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import {
  checkKeyFile,
  type KeySet,
  readKeyFile,
  readKeySet,
} from "../../src/identity/bearer-keys.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { makeDirectory } from "../support/directory.ts";
import { makeIssuerKey } from "../support/token-issuer.ts";

let ed25519: JWK;
let rsa: JWK;

beforeAll(async () => {
  ed25519 = (await makeIssuerKey("EdDSA", "ed")).jwk;
  rsa = (await makeIssuerKey("RS256", "rsa")).jwk;
});

function read(keys: readonly unknown[]): { set: KeySet; ignored: readonly string[] } {
  const result = readKeySet({ keys });
  if (result.fault !== undefined) throw new Error(result.fault);
  return result;
}

function weakRsa(options: { modulusLength: number; publicExponent?: number }): JWK {
  return generateKeyPairSync("rsa", options).publicKey.export({ format: "jwk" }) as JWK;
}

// RFC 7517 §5
describe("readKeySet", () => {
  it.each([undefined, null, 7, "keys", [], {}, { keys: {} }, { keys: null }, { keys: "x" }])(
    "refuses %j, which is no key set",
    (document) => {
      expect(readKeySet(document)).toEqual({
        fault: 'must be a JSON Web Key Set: an object with the array "keys"',
      });
    },
  );

  it("takes a hundred keys and no more", () => {
    expect(read(Array.from({ length: 100 }, () => ed25519)).set.size).toBe(100);
    expect(readKeySet({ keys: Array.from({ length: 101 }, () => ed25519) })).toEqual({
      fault: "must have at most 100 keys, has 101",
    });
  });

  it("may hold nothing", () => {
    expect(read([]).set.size).toBe(0);
  });

  it.each<readonly [string, () => unknown]>([
    ["is no object", () => "key"],
    ["is symmetric", () => ({ kty: "oct", k: "AAAA", kid: "s" })],
    ["is a private key", () => ({ ...ed25519, d: "AAAA" })],
    ["has a kid that is no text of at most 1024 characters", () => ({ ...ed25519, kid: 7 })],
    [
      "has a kid that is no text of at most 1024 characters",
      () => ({ ...ed25519, kid: "k".repeat(1025) }),
    ],
    ["is no public key of a known type", () => ({ kty: "AKP", pub: "AAAA" })],
    ["is no public key of a known type", () => ({ ...ed25519, x: "AAAA" })],
    ["is no public key of a known type", () => ({ ...ed25519, kty: "RSA" })],
    ["is no public key of a known type", () => ({ kty: "EC", crv: "P-256", x: "AA", y: "AA" })],
    ['fits no accepted algorithm with alg "HS256"', () => ({ ...rsa, alg: "HS256" })],
    ['fits no accepted algorithm with alg "none"', () => ({ ...ed25519, alg: "none" })],
    ['fits no accepted algorithm with alg "RS256"', () => ({ ...ed25519, alg: "RS256" })],
    ["fits no accepted algorithm with alg 7", () => ({ ...ed25519, alg: 7 })],
    ["fits no accepted algorithm", () => weakRsa({ modulusLength: 1024 })],
  ])("passes over a key that %s", (reason, key) => {
    const { set, ignored } = read([key(), ed25519]);
    expect(ignored).toEqual([`keys[0] ${reason}, so it is ignored`]);
    expect(set.size).toBe(1);
  });

  it("passes over an RSA key whose exponent makes anything a signature", () => {
    const { n } = rsa;
    const { set } = read([{ kty: "RSA", n, e: "AQ" }]);
    expect(set.size).toBe(0);
  });

  it("computes with no RSA key that is longer than one of 8192 bits", () => {
    const { n } = rsa;
    const e = Buffer.alloc(60_000, 0xff).toString("base64url");
    const before = cpuMs();
    const { set, ignored } = read([{ kty: "RSA", n, e }, { kty: "RSA", n: e, e: "AQAB" }, rsa]);
    const reason = "fits no accepted algorithm, so it is ignored";
    expect(ignored).toEqual([`keys[0] ${reason}`, `keys[1] ${reason}`]);
    expect(set.size).toBe(1);
    // The exponent alone takes more than a second.
    expect(cpuMs() - before).toBeLessThan(500);
  });

  it("says nothing of keys that are for something else", () => {
    const { set, ignored } = read([
      { ...rsa, use: "enc" },
      { ...ed25519, key_ops: ["sign"] },
    ]);
    expect(ignored).toEqual([]);
    expect(set.size).toBe(0);
  });

  it("has the same fingerprint for the same keys in another order, and no other", () => {
    const one = read([ed25519, rsa]).set.fingerprint;
    expect(read([{ ...rsa, x5t: "more" }, ed25519]).set.fingerprint).toBe(one);
    expect(read([ed25519]).set.fingerprint).not.toBe(one);
    expect(read([ed25519, { ...rsa, kid: "other" }]).set.fingerprint).not.toBe(one);
    expect(read([ed25519, { ...rsa, alg: "RS512" }]).set.fingerprint).not.toBe(one);
  });

  it("does not change or keep what it was given", () => {
    const frozen = Object.freeze({ ...ed25519 });
    expect(read(Object.freeze([frozen])).set.size).toBe(1);
  });
});

describe("a key set", () => {
  it("names the keys that may have signed a token", () => {
    const { set } = read([ed25519, rsa, { ...ed25519, kid: "twin" }]);
    expect(set.candidates({ alg: "EdDSA", kid: "ed" })).toHaveLength(1);
    expect(set.candidates({ alg: "Ed25519", kid: "ed" })).toHaveLength(1);
    expect(set.candidates({ alg: "EdDSA", kid: undefined })).toHaveLength(2);
    expect(set.candidates({ alg: "RS256", kid: "rsa" })).toHaveLength(1);
    expect(set.candidates({ alg: "RS512", kid: "rsa" })).toEqual([]);
    expect(set.candidates({ alg: "PS256", kid: "rsa" })).toEqual([]);
    expect(set.candidates({ alg: "RS256", kid: "ed" })).toEqual([]);
    expect(set.candidates({ alg: "EdDSA", kid: "toString" })).toEqual([]);
  });

  it("lets an RSA key without an alg serve all of its family", () => {
    const { alg: _, ...bare } = rsa;
    const { set } = read([bare]);
    for (const alg of ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const) {
      expect(set.candidates({ alg, kid: "rsa" })).toHaveLength(1);
    }
    expect(set.candidates({ alg: "ES256", kid: "rsa" })).toEqual([]);
  });

  it("names a few keys only to a token that names none", () => {
    const { set } = read(Array.from({ length: 100 }, (_, kid) => ({ ...ed25519, kid: `k${kid}` })));
    expect(set.candidates({ alg: "EdDSA", kid: undefined })).toHaveLength(8);
    expect(set.candidates({ alg: "EdDSA", kid: "k99" })).toHaveLength(1);
  });

  it("knows the kids of its usable keys alone", () => {
    const { set } = read([ed25519, { ...rsa, use: "enc" }]);
    expect(["ed", "rsa", "__proto__"].map((kid) => set.has(kid))).toEqual([true, false, false]);
  });
});

const PLACE = { file: "agtp-server.toml", key: "policies.oauth.jwks_file" };

function write(text: string): string {
  return join(makeDirectory({ "jwks.json": text }), "jwks.json");
}

describe("readKeyFile", () => {
  it("gives the keys that the file holds now", async () => {
    const [first, second] = await Promise.all([
      makeIssuerKey("ES256", "first"),
      makeIssuerKey("ES256", "second"),
    ]);
    const path = write(JSON.stringify({ keys: [first.jwk] }));
    expect(readKeyFile(path)).toMatchObject({ set: { size: 1 }, ignored: [] });
    writeFileSync(path, JSON.stringify({ keys: [second.jwk] }));
    const { set } = readKeyFile(path);
    expect(set?.has("first")).toBe(false);
    expect(set?.has("second")).toBe(true);
  });
});

describe("checkKeyFile", () => {
  it("has nothing to say about a good file", async () => {
    const { jwk } = await makeIssuerKey("ES256", "ec");
    expect(checkKeyFile(write(JSON.stringify({ keys: [jwk] })), PLACE)).toEqual([]);
  });

  it("warns of symmetric keys, and lets the others serve", async () => {
    const { jwk } = await makeIssuerKey();
    const path = write(JSON.stringify({ keys: [{ kty: "oct", k: "c2VjcmV0" }, jwk] }));
    const problems = checkKeyFile(path, PLACE);
    expect(problems).toMatchObject([{ ...PLACE, severity: "warning" }]);
    expect(problems[0]?.message).toContain("keys[0] is symmetric, so it is ignored");
    expect(problems[0]?.message).not.toContain("c2VjcmV0");
  });

  it.each([
    ["", "must be JSON"],
    ["{", "must be JSON"],
    ["[]", "must be a JSON Web Key Set"],
    ['{"keys":7}', "must be a JSON Web Key Set"],
    ['{"keys":[],"keys":[]}', 'must not have the member "keys" twice'],
    ['{"keys":[]}', "must hold a public key of an accepted signature algorithm"],
    ['{"keys":[{"kty":"oct","k":"AA"}]}', "must hold a public key of an accepted"],
  ])("is a problem with %j", (text, message) => {
    const problems = checkKeyFile(write(text), PLACE);
    expect(problems.at(-1)).toMatchObject({
      ...PLACE,
      message: expect.stringContaining(message),
    });
    expect(problems.at(-1)?.severity).toBeUndefined();
  });

  it("is a problem with a file that is not there, is a directory, or is too long", () => {
    const directory = makeDirectory({ "long.json": " ".repeat(1_048_577) });
    for (const path of [join(directory, "missing.json"), directory, join(directory, "long.json")]) {
      expect(checkKeyFile(path, PLACE)).toMatchObject([PLACE]);
    }
  });
});
