import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openTokenVerifier, type VerifierOptions } from "../../../src/app/jwks/keys.ts";
import { makeDirectory } from "../../support/directory.ts";
import { openJwksServer } from "../../support/jwks-server.ts";
import { goodClaims, ISSUER, makeIssuerKey, NOW, signToken } from "../../support/token-issuer.ts";

type Keys = { readonly jwksUri: string } | { readonly jwksFile: string };

async function open(keys: Keys) {
  const clock = { now: NOW };
  const log: string[] = [];
  const write = (fields: object, message?: string): void => {
    log.push(JSON.stringify({ ...fields, message }));
  };
  const options: VerifierOptions = {
    oauth: { issuer: ISSUER, principalClaim: "sub", requiredOnMethods: [], ...keys },
    file: "agtp-server.toml",
    log: { info: write, warn: write },
    now: () => clock.now,
  };
  const opened = await openTokenVerifier(options);
  onTestFinished(() => opened.verifier?.close());
  const judge = async (token: string): Promise<string> => {
    const verdict = await opened.verifier?.verify(`Bearer ${token}`);
    return verdict?.kind === "valid" ? verdict.principalId : (verdict?.reason ?? "");
  };
  return { ...opened, clock, log, judge };
}

describe("openTokenVerifier with a file", () => {
  it("verifies with the keys of the file", async () => {
    const key = await makeIssuerKey();
    const directory = makeDirectory({ "jwks.json": JSON.stringify({ keys: [key.jwk] }) });
    const { judge, problems } = await open({ jwksFile: join(directory, "jwks.json") });
    expect(problems).toEqual([]);
    expect(await judge(await signToken(key))).toBe("ada");
  });

  it("follows a rotation of the keys in the file", async () => {
    const [first, second] = await Promise.all([
      makeIssuerKey("ES256", "2030-01"),
      makeIssuerKey("EdDSA", "2030-02"),
    ]);
    const directory = makeDirectory({ "jwks.json": JSON.stringify({ keys: [first.jwk] }) });
    const jwksFile = join(directory, "jwks.json");
    const { judge, clock, log } = await open({ jwksFile });
    const [old, young] = [await signToken(first), await signToken(second)];
    expect(await judge(old)).toBe("ada");
    expect(await judge(young)).toBe("no key of the issuer fits the token");
    writeFileSync(jwksFile, JSON.stringify({ keys: [second.jwk] }));
    clock.now += 1_000;
    expect(await judge(young)).toBe("ada");
    expect(await judge(old)).toBe("no key of the issuer fits the token");
    for (const text of ["{", undefined]) {
      if (text === undefined) rmSync(jwksFile);
      else writeFileSync(jwksFile, text);
      clock.now += 1_000;
      expect(await judge(young)).toBe("ada");
      expect(log.at(-1)).toContain("cannot be renewed");
    }
  });

  it("has no verifier when the file has no usable key", async () => {
    const directory = makeDirectory({ "jwks.json": '{"keys":[]}' });
    const { verifier, problems } = await open({ jwksFile: join(directory, "jwks.json") });
    expect(verifier).toBeUndefined();
    expect(problems).toMatchObject([{ file: "agtp-server.toml", key: "policies.oauth.jwks_file" }]);
  });
});

describe("openTokenVerifier with a URL", () => {
  it("is a problem where the URL is none", async () => {
    const { verifier, problems } = await open({ jwksUri: "https://[::1" });
    expect(verifier).toBeUndefined();
    expect(problems).toMatchObject([{ key: "policies.oauth.jwks_uri" }]);
  });

  it("connects to nothing before it is started", async () => {
    const server = await openJwksServer();
    await open({ jwksUri: server.uri });
    expect(server.requests).toEqual([]);
  });

  it("follows a rotation of the issuer's keys", async () => {
    const server = await openJwksServer();
    const [first, second] = await Promise.all([
      makeIssuerKey("ES256", "2030-01"),
      makeIssuerKey("EdDSA", "2030-02"),
    ]);
    server.publish([first.jwk]);
    const { judge, start, clock } = await open({ jwksUri: server.uri });
    start();
    expect(await judge(await signToken(first))).toBe("ada");
    server.publish([first.jwk, second.jwk]);
    expect(await judge(await signToken(second))).toBe("ada");
    server.publish([second.jwk]);
    clock.now += 600_000;
    const later = { iat: clock.now / 1000, exp: clock.now / 1000 + 60 };
    expect(await judge(await signToken(first, goodClaims(later)))).toBe(
      "no key of the issuer fits the token",
    );
    expect(await judge(await signToken(second, goodClaims(later)))).toBe("ada");
  });

  it("starts without the issuer, refuses tokens, and recovers", async () => {
    const server = await openJwksServer();
    const key = await makeIssuerKey();
    const { judge, start, clock, log } = await open({ jwksUri: server.uri });
    start();
    const token = await signToken(key);
    expect(await judge(token)).toBe("keys unavailable");
    expect(log).toHaveLength(1);
    expect(log[0]).toContain("answered with status 503, expected 200");
    server.publish([key.jwk]);
    clock.now += 1_000;
    expect(await judge(token)).toBe("ada");
  });

  it("never logs a token, or anything in it", async () => {
    const server = await openJwksServer();
    const key = await makeIssuerKey();
    server.publish([key.jwk]);
    const { judge, log } = await open({ jwksUri: server.uri });
    const secret = "s3cr3t-marker";
    for (const token of [
      await signToken(key, goodClaims({ sub: secret })),
      await signToken(key, goodClaims({ iss: secret })),
      await signToken(key, goodClaims(), { kid: secret }),
      `${secret}.${secret}.${secret}`,
    ]) {
      await judge(token);
      for (const part of token.split(".")) expect(log.join("\n")).not.toContain(part);
    }
    expect(log.join("\n")).not.toContain(secret);
  });
});
