/** A provider on this machine, over plain HTTP. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createOidcProvider } from "../../../src/modules/console/oidc-provider.ts";
import { goodClaims, makeIssuerKey, signToken } from "../../support/token-issuer.ts";

it("a provider on loopback may be asked over plain HTTP", async () => {
  const key = await makeIssuerKey("RS256");
  const attempt = { state: "s".repeat(43), nonce: "n".repeat(43), verifier: "v".repeat(43) };
  const now = Math.floor(Date.now() / 1000);
  let issuer = "";
  const server = createServer(async ({ url }, response) => {
    const claims = { iss: issuer, aud: "agtpd", nonce: attempt.nonce, iat: now, exp: now + 60 };
    const answers: Readonly<Record<string, () => Promise<object>>> = {
      "/.well-known/openid-configuration": async () => ({
        ...{ issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` },
        ...{ jwks_uri: `${issuer}/keys`, id_token_signing_alg_values_supported: ["RS256"] },
        ...{ userinfo_endpoint: `${issuer}/me` },
      }),
      "/keys": async () => ({ keys: [key.jwk] }),
      "/me": async () => ({ sub: "ada", realm_access: { roles: ["staff"] } }),
      "/token": async () => ({
        ...{ access_token: "a", token_type: "Bearer" },
        id_token: await signToken(key, goodClaims(claims)),
      }),
    };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(await answers[String(url)]?.()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const oidc = {
    ...{ issuer, clientId: "agtpd", scope: "openid", roleClaim: "realm_access.roles" },
    ...{ viewers: ["staff"], operators: [] },
  };
  const provider = createOidcProvider({ oidc, ca: undefined });
  onTestFinished(() => provider.close());
  const redirect = "http://localhost:4490/oidc/callback";
  const url = await provider.authorizationUrl(attempt, redirect);
  expect(url.origin).toBe(issuer);
  const answer = new URL(`${redirect}?code=c&state=${attempt.state}`);
  // The roles are where the ID token has none: in UserInfo.
  expect(await provider.claimsOf(answer, attempt)).toMatchObject({
    ...{ iss: issuer, sub: "ada", realm_access: { roles: ["staff"] } },
  });
});
