import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isTrustedIssuer, readTrustedIssuers } from "../../src/identity/trusted-issuers.ts";
import { makeDirectory } from "../support/directory.ts";
import { AGENT, ISSUER, STRANGER, type TestKey } from "../support/genesis.ts";

const file = "agtp-server.toml";

function privatePem({ privateKey }: TestKey): string {
  return String(privateKey.export({ format: "pem", type: "pkcs8" }));
}

describe("readTrustedIssuers", () => {
  it("reads keys in either encoding, in the order they are listed", () => {
    const trustedIssuers = [ISSUER.pem, ` ${STRANGER.text}\n`];
    const { keys, problems } = readTrustedIssuers({ trustedIssuers, file });
    expect(keys.map(({ text }) => text)).toEqual([ISSUER.text, STRANGER.text]);
    expect(problems).toEqual([]);
  });

  it("trusts the server's own signing key", () => {
    const directory = makeDirectory({ "signing.pem": privatePem(ISSUER) });
    const signingKey = join(directory, "signing.pem");
    const { keys } = readTrustedIssuers({ trustedIssuers: [AGENT.text], signingKey, file });
    expect(keys.map(({ text }) => text)).toEqual([AGENT.text, ISSUER.text]);
  });

  it("leaves a signing key that it cannot read to whoever signs with it", () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const directory = makeDirectory({
      "empty.pem": "",
      "p256.pem": String(privateKey.export({ format: "pem", type: "pkcs8" })),
    });
    for (const name of ["empty.pem", "p256.pem", "missing.pem", "."]) {
      const signingKey = join(directory, name);
      const expected = { keys: [], problems: [] };
      expect(readTrustedIssuers({ trustedIssuers: [], signingKey, file })).toEqual(expected);
    }
  });

  it("names the place of what is no public key, and does not repeat it", () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const p256 = String(publicKey.export({ format: "pem", type: "spki" }));
    const wrong = ["", "x", p256, privatePem(ISSUER), `${ISSUER.text}A`];
    const { keys, problems } = readTrustedIssuers({
      trustedIssuers: [ISSUER.text, ...wrong],
      file,
    });
    expect(keys).toHaveLength(1);
    expect(problems).toEqual(
      wrong.map((_, index) => ({
        file,
        key: `policies.identity.trusted_issuers[${index + 1}]`,
        message: "must be an Ed25519 public key, base64url or PEM",
      })),
    );
  });
});

describe("isTrustedIssuer", () => {
  it("compares keys, however they were written", () => {
    const { keys } = readTrustedIssuers({ trustedIssuers: [ISSUER.pem], file });
    expect(isTrustedIssuer(ISSUER.publicKey, keys)).toBe(true);
    expect(isTrustedIssuer(STRANGER.publicKey, keys)).toBe(false);
    expect(isTrustedIssuer(ISSUER.publicKey, [])).toBe(false);
  });
});
