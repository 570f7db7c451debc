import { describe, expect, it } from "vitest";
import { signDetached } from "../../src/identity/ed25519.ts";
import { compactHeader, decodeJws, isSignedBy } from "../../src/identity/jws.ts";
import { ISSUER } from "../support/genesis.ts";

function compact(header: Buffer | string, payload: Buffer | string): string {
  const input = [header, payload].map((one) => Buffer.from(one).toString("base64url")).join(".");
  return `${input}.${signDetached(ISSUER.privateKey, Buffer.from(input))}`;
}

const HEADER = Buffer.from(compactHeader(ISSUER.privateKey), "base64url").toString();

// RFC 7515 §5.2
describe("a compact JWS", () => {
  it("is taken apart and verified", () => {
    const decoded = decodeJws(compact(HEADER, '{"a":"é"}'));
    expect(decoded?.payload).toEqual({ a: "é" });
    expect(decoded && isSignedBy(decoded, ISSUER.publicKey)).toBe(true);
  });

  it.each([
    [
      "header",
      Buffer.concat([Buffer.from('{"alg":"EdDSA","a":"'), Buffer.of(0xff), Buffer.from('"}')]),
      "{}",
    ],
    [
      "payload",
      HEADER,
      Buffer.concat([Buffer.from('{"a":"'), Buffer.of(0xc0, 0xaf), Buffer.from('"}')]),
    ],
    ["payload with half of a pair", HEADER, Buffer.from("7b2261223a22eda080227d", "hex")],
    ["payload with a byte order mark", HEADER, "\ufeff{}"],
  ])("is none where its %s is not JSON in UTF-8", (_, header, payload) => {
    expect(decodeJws(compact(header, payload))).toBeUndefined();
  });

  it.each([
    { alg: "none" },
    { alg: "HS256" },
    { alg: "ES256" },
    { alg: "EdDSA", crit: ["b64"] },
    {},
  ])("is signed by no key where its header is %j", (header) => {
    const decoded = decodeJws(compact(JSON.stringify(header), "{}"));
    expect(decoded && isSignedBy(decoded, ISSUER.publicKey)).toBe(false);
  });
});
