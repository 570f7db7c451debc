import { describe, expect, it } from "vitest";
import { keyId } from "../../../src/identity/jws.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { verifyRecord } from "../../../src/state/records/verify-record.ts";
import { makeKeyPair } from "../../support/attribution-chain.ts";

const { privateKey, publicKey } = makeKeyPair();
const { publicKey: otherKey } = makeKeyPair();
const payload = { agent_id: "x" };
const signed = createRecordSigner(privateKey).sign(JSON.stringify(payload));
const unsigned = createRecordSigner().sign(JSON.stringify(payload));

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** The signed record under another header; the signature is over the first one. */
function withHeader(header: object): string {
  return [encode(header), ...signed.split(".").slice(1)].join(".");
}

describe("verifyRecord", () => {
  it("verifies what the server signs, with the right key among several", () => {
    const kid = keyId(publicKey);
    expect(verifyRecord(signed, [otherKey, publicKey])).toEqual({ kind: "verified", payload, kid });
  });

  it("does not pretend to have checked a signature without a key", () => {
    expect(verifyRecord(signed, [])).toEqual({ kind: "unchecked", payload });
  });

  it("takes an unsigned record for what it is, whatever the keys", () => {
    expect(verifyRecord(unsigned, [])).toEqual({ kind: "unsigned", payload });
    expect(verifyRecord(unsigned, [publicKey])).toEqual({ kind: "unsigned", payload });
  });

  it("says that a key is not the one", () => {
    expect(verifyRecord(signed, [otherKey])).toEqual({
      kind: "unknown-key",
      fault: `is signed with another key, "${keyId(publicKey)}"`,
    });
  });

  it.each([
    ["another payload", signed.replace(/\.[^.]+\./, `.${encode({ agent_id: "y" })}.`)],
    ["no signature", signed.replace(/[^.]+$/, "")],
    ["half a signature", signed.slice(0, -43)],
    ["another header", withHeader({ alg: "EdDSA", kid: keyId(publicKey) })],
    ["another header without a kid", withHeader({ alg: "EdDSA" })],
  ])("refuses %s", (_, jws) => {
    expect(verifyRecord(jws, [publicKey])).toEqual({
      kind: "bad-signature",
      fault: "has a signature that does not verify",
    });
  });

  it.each([
    ["no JWS", "hello", "is no compact JWS of a JSON object"],
    ["two segments", signed.split(".").slice(0, 2).join("."), "is no compact JWS"],
    ["padding", `${signed}=`, "is no compact JWS"],
    [
      "a payload that is no object",
      `${encode({ alg: "none" })}.${encode([])}.`,
      "is no compact JWS",
    ],
    ["alg none over a signature", withHeader({ alg: "none" }), 'though its alg is "none"'],
    ["HMAC", withHeader({ alg: "HS256" }), 'has the alg "HS256", not "EdDSA"'],
    ["alg none in capitals", withHeader({ alg: "NONE" }), 'has the alg "NONE"'],
    ["no alg", withHeader({ kid: keyId(publicKey) }), "has the alg undefined"],
    ["a critical member", withHeader({ alg: "EdDSA", crit: ["b64"], b64: false }), "critical"],
  ])("refuses %s", (_, jws, fault) => {
    const verdict = verifyRecord(jws, [publicKey]);
    expect(verdict).toEqual({ kind: "malformed-record", fault: expect.stringContaining(fault) });
  });
});
