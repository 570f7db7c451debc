import { generateKeyPairSync } from "node:crypto";
import { compactVerify, importJWK } from "jose";
import { describe, expect, it } from "vitest";
import { publicKeyOf } from "../../src/identity/ed25519.ts";
import { verifyManifest } from "../../src/identity/manifest-signature.ts";
import { canonical } from "../support/genesis.ts";
import { signManifest } from "../support/manifests.ts";
import { readJws } from "../support/records.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const KEY = publicKeyOf(publicKey);
const OTHER = publicKeyOf(generateKeyPairSync("ed25519").publicKey);
const MANIFEST = {
  agtp_version: "1.0",
  server: { server_id: "agents.example", domain: null },
  endpoints: [{ path: "/é", method: "BOOK" }],
  manifest_signature: null,
};
const SIGNED = { ...MANIFEST, manifest_signature: signManifest(MANIFEST, privateKey) };

// AGTP-API §8.8
describe("signManifest", () => {
  it("signs the canonical form without the signature, with the key in its header", async () => {
    const { header } = readJws(SIGNED.manifest_signature);
    const key = await importJWK(Object(header["jwk"]), "EdDSA");
    const { payload } = await compactVerify(SIGNED.manifest_signature, key);
    const { manifest_signature: _, ...rest } = MANIFEST;
    expect(Buffer.from(payload).toString("utf8")).toBe(canonical(rest));
    expect(JSON.stringify(header)).not.toContain('"d"');
  });
});

describe("verifyManifest", () => {
  it("tells what a known key proves from what the header's own does", () => {
    expect(verifyManifest(SIGNED, KEY)).toMatchObject({ kind: "verified" });
    expect(verifyManifest(SIGNED)).toMatchObject({ kind: "intact" });
    expect(verifyManifest(SIGNED, OTHER)).toMatchObject({ kind: "invalid" });
  });

  it("does not care for the order of members", () => {
    const reversed = Object.fromEntries(Object.entries(SIGNED).reverse());
    expect(verifyManifest(reversed, KEY)).toMatchObject({ kind: "verified" });
  });

  it.each([{ manifest_signature: null }, { manifest_signature: undefined }])(
    "finds no signature in %j",
    (changes) => {
      expect(verifyManifest({ ...SIGNED, ...changes }, KEY)).toEqual({ kind: "unsigned" });
    },
  );

  const [header = "", payload = "", signature = ""] = SIGNED.manifest_signature.split(".");
  const encode = (value: object): string =>
    Buffer.from(JSON.stringify(value)).toString("base64url");

  it.each<[string, object]>([
    ["an altered manifest", { ...SIGNED, agtp_version: "9" }],
    ["a member more", { ...SIGNED, extra: 1 }],
    ["a signature cut short", { ...SIGNED, manifest_signature: `${header}.${payload}.` }],
    [
      "another signature",
      { ...SIGNED, manifest_signature: `${header}.${payload}.${"A".repeat(86)}` },
    ],
    ["alg none", { ...SIGNED, manifest_signature: `${encode({ alg: "none" })}.${payload}.` }],
    [
      "another algorithm under the same key",
      { ...SIGNED, manifest_signature: `${encode({ alg: "HS256" })}.${payload}.${signature}` },
    ],
    [
      "a critical header",
      {
        ...SIGNED,
        manifest_signature: `${encode({ alg: "EdDSA", crit: ["x"] })}.${payload}.${signature}`,
      },
    ],
    ["a text", { ...SIGNED, manifest_signature: "signed" }],
    ["a number", { ...SIGNED, manifest_signature: 7 }],
    ["what has no canonical form", { ...SIGNED, extra: Number.POSITIVE_INFINITY }],
    ["what is nested without end", { ...SIGNED, extra: nest(100_000) }],
  ])("refuses %s, and does not throw", (_, manifest) => {
    for (const key of [KEY, undefined]) {
      expect(verifyManifest({ ...manifest }, key)).toMatchObject({ kind: "invalid" });
    }
  });

  it("takes no manifest for another's payload", () => {
    const other = signManifest({ ...MANIFEST, agtp_version: "9" }, privateKey);
    expect(verifyManifest({ ...SIGNED, manifest_signature: other }, KEY)).toEqual({
      kind: "invalid",
      fault: "is over another manifest",
    });
  });
});

function nest(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}
