/** An OpenID provider as the console asks it: in good faith, and however it lies or fails. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import type { OidcConfig } from "../../../src/modules/console/config.ts";
import type { OidcFailure } from "../../../src/modules/console/oidc-failure.ts";
import {
  createOidcProvider,
  type OidcProvider,
} from "../../../src/modules/console/oidc-provider.ts";
import {
  CLIENT_ID,
  type Forgery,
  type ForgingProvider,
  startForgingProvider,
} from "../../support/forging-provider.ts";
import { PATIENCE } from "../../support/patience.ts";
import { goodClaims, makeIssuerKey, signToken } from "../../support/token-issuer.ts";

const REDIRECT = "http://localhost:4490/oidc/callback";
const ATTEMPT = { state: "s".repeat(43), nonce: "n".repeat(43), verifier: "v".repeat(43) };
const DISCOVERY = "/.well-known/openid-configuration";

interface Opened {
  readonly there: ForgingProvider;
  readonly provider: OidcProvider;
}

async function open(changes: Partial<OidcConfig> = {}, timeoutMs?: number): Promise<Opened> {
  const there = await startForgingProvider();
  there.forge({}, ATTEMPT.nonce);
  const oidc: OidcConfig = {
    ...{ issuer: there.issuer, clientId: CLIENT_ID, clientSecret: "secret", scope: "openid" },
    ...{ roleClaim: "groups", viewers: ["staff"], operators: [] },
    ...changes,
  };
  const provider = createOidcProvider({ oidc, ca: there.ca, ...(timeoutMs && { timeoutMs }) });
  onTestFinished(() => provider.close());
  return { there, provider };
}

function answerOf({ there }: Opened, changes: Record<string, string> = {}): URL {
  const answer = new URL(REDIRECT);
  const members = { code: "c", state: ATTEMPT.state, iss: there.issuer, ...changes };
  answer.search = new URLSearchParams(members).toString();
  return answer;
}

/** The kind of the failure, and its line of the log. */
async function failureOf(asking: Promise<unknown>): Promise<readonly [string, string]> {
  const { kind, reason } = await asking.then(
    () => ({ kind: "none", reason: "" }),
    (error: OidcFailure) => error,
  );
  return [kind, reason];
}

/** A key without its exponent, and one that is for other work. */
const UNREADABLE = { kty: "RSA", kid: "key-1", alg: "RS256", use: "sig", n: "AQAB" };
const PRIVATE = { ...UNREADABLE, e: "AQAB", d: "AQAB" };

const send = (status: number, body: string | Buffer) => (response: ServerResponse) => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(body);
};

describe("createOidcProvider", () => {
  it("asks nothing before somebody signs in, and for the provider's document once", async () => {
    const opened = await open();
    expect(opened.there.asked).toEqual([]);
    for (const _ of [1, 2]) await opened.provider.authorizationUrl(ATTEMPT, REDIRECT);
    expect(opened.there.asked).toEqual([DISCOVERY]);
  });

  it("sends people away with PKCE, state and nonce", async () => {
    const { there, provider } = await open();
    const url = await provider.authorizationUrl(ATTEMPT, REDIRECT);
    expect(url.origin + url.pathname).toBe(`${there.issuer}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      ...{ client_id: CLIENT_ID, response_type: "code", redirect_uri: REDIRECT, scope: "openid" },
      ...{ state: ATTEMPT.state, nonce: ATTEMPT.nonce, code_challenge_method: "S256" },
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(url.href).not.toContain(ATTEMPT.verifier);
  });

  it("believes what a signed ID token says", async () => {
    const opened = await open();
    const claims = await opened.provider.claimsOf(answerOf(opened), ATTEMPT);
    expect(claims).toMatchObject({ iss: opened.there.issuer, sub: "ada", groups: ["staff"] });
  });

  const now = Math.floor(Date.now() / 1000);
  it.each<readonly [string, Forgery, RegExp]>([
    ["another issuer's token", { claims: { iss: "https://evil.example" } }, /iss/],
    ["another client's token", { claims: { aud: "other" } }, /aud/],
    ["a token of another sign-in", { claims: { nonce: "other" } }, /nonce/],
    ["a token without a nonce", { claims: { nonce: undefined } }, /nonce/],
    ["a token that is over", { claims: { exp: now - 600 } }, /TIMESTAMP/],
    ["a token that names nobody", { claims: { sub: undefined } }, /sub/],
    ["a token of somebody without a name", { claims: { sub: "" } }, /no usable sub/],
    ["somebody with a name of two lines", { claims: { sub: "ada\r\neve" } }, /no usable sub/],
    ["somebody whose name ends early", { claims: { sub: "ada\u0000" } }, /no usable sub/],
    ["somebody named by half a character", { claims: { sub: "ada\ud800" } }, /no usable sub/],
    ["somebody with too long a name", { claims: { sub: "x".repeat(300) } }, /sub/],
    [
      "another provider's document",
      { metadata: { issuer: "https://evil.example" } },
      /issuer does not match/,
    ],
    ["no keys at all", { paths: { "/keys": send(200, '{"keys":[]}') } }, /KEY/],
    ["a document that is none", { paths: { [DISCOVERY]: send(200, "<html>") } }, /JSON|PARSE/],
    [
      "a list for a document",
      { paths: { [DISCOVERY]: send(200, "[]") } },
      /INVALID_RESPONSE|object/,
    ],
    ["an error for a document", { paths: { [DISCOVERY]: send(500, "{}") } }, /OAUTH_/],
    [
      "a document of a megabyte",
      { paths: { [DISCOVERY]: send(200, Buffer.alloc(1_048_576, " ")) } },
      /longer than 262144/,
    ],
    [
      "a redirect elsewhere",
      { paths: { [DISCOVERY]: (response) => response.writeHead(302, { location: "/x" }).end() } },
      /OAUTH_/,
    ],
    [
      "a place for tokens that is not https",
      { metadata: { token_endpoint: "http://evil.example/token" } },
      /OAUTH_|not https/,
    ],
    [
      "a place for tokens at an address of a link",
      { metadata: { token_endpoint: "https://169.254.169.254/token" } },
      /may not have$/,
    ],
    [
      "a key that is none",
      { paths: { "/keys": send(200, JSON.stringify({ keys: [UNREADABLE] })) } },
      /^a key: DataError$/,
    ],
    [
      "a private key",
      { paths: { "/keys": send(200, JSON.stringify({ keys: [PRIVATE] })) } },
      /^a key: /,
    ],
    [
      "a refusal of the client",
      { paths: { "/token": send(401, '{"error":"invalid_client","error_description":"<b>"}') } },
      /invalid_client$/,
    ],
    [
      "a code that was used",
      { paths: { "/token": send(400, '{"error":"invalid_grant"}') } },
      /invalid_grant$/,
    ],
  ])("does not accept %s", async (_, forgery, reason) => {
    const opened = await open();
    opened.there.forge(forgery);
    const failure = await failureOf(opened.provider.claimsOf(answerOf(opened), ATTEMPT));
    expect(failure).toEqual(["unacceptable", expect.stringMatching(reason)]);
    expect(failure[1]).not.toContain("<");
  });

  it("does not accept a token that another key signed", async () => {
    const opened = await open();
    opened.there.forge({ key: await makeIssuerKey("RS256") });
    const failure = await failureOf(opened.provider.claimsOf(answerOf(opened), ATTEMPT));
    expect(failure).toEqual(["unacceptable", expect.stringContaining("OAUTH_")]);
  });

  it("does not accept a token that nobody signed", async () => {
    const opened = await open();
    const head = Buffer.from('{"alg":"none"}').toString("base64url");
    const claims = { iss: opened.there.issuer, sub: "ada", aud: CLIENT_ID, nonce: ATTEMPT.nonce };
    const times = { iat: now, exp: now + 60 };
    const payload = Buffer.from(JSON.stringify({ ...claims, ...times })).toString("base64url");
    const token = { access_token: "a", token_type: "Bearer", id_token: `${head}.${payload}.` };
    opened.there.forge({
      metadata: { id_token_signing_alg_values_supported: ["none", "RS256"] },
      paths: { "/token": send(200, JSON.stringify(token)) },
    });
    const [kind] = await failureOf(opened.provider.claimsOf(answerOf(opened), ATTEMPT));
    expect(kind).toBe("unacceptable");
  });

  it("takes an answer of the issuer that it asked alone", async () => {
    const opened = await open();
    const answer = answerOf(opened, { iss: "https://evil.example" });
    const [kind] = await failureOf(opened.provider.claimsOf(answer, ATTEMPT));
    expect(kind).toBe("unacceptable");
    const declined = answerOf(opened, { error: "access_denied" });
    declined.searchParams.delete("code");
    expect(await failureOf(opened.provider.claimsOf(declined, ATTEMPT))).toEqual([
      "declined",
      "OAUTH_AUTHORIZATION_RESPONSE_ERROR",
    ]);
  });

  it("sends nobody to an address that is no web address", async () => {
    const opened = await open();
    opened.there.forge({ metadata: { authorization_endpoint: "javascript:alert(1)" } });
    const [kind] = await failureOf(opened.provider.authorizationUrl(ATTEMPT, REDIRECT));
    expect(kind).toBe("unacceptable");
  });

  it("sends nobody to an address with somebody's name in it", async () => {
    const opened = await open();
    const endpoint = "https://login.example@evil.example/authorize";
    opened.there.forge({ metadata: { authorization_endpoint: endpoint } });
    const [kind] = await failureOf(opened.provider.authorizationUrl(ATTEMPT, REDIRECT));
    expect(kind).toBe("unacceptable");
  });

  it("waits for nobody for long, and asks again afterwards", async () => {
    const opened = await open({}, 200);
    opened.there.forge({ paths: { [DISCOVERY]: () => undefined } });
    const late = await failureOf(opened.provider.authorizationUrl(ATTEMPT, REDIRECT));
    expect(late[0]).toBe("late");
    const trickle = (response: ServerResponse): void => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write("{");
    };
    opened.there.forge({ paths: { [DISCOVERY]: trickle } });
    const never = await failureOf(opened.provider.authorizationUrl(ATTEMPT, REDIRECT));
    expect(never[0]).toBe("late");
    opened.there.forge({});
    await opened.provider.authorizationUrl(ATTEMPT, REDIRECT);
  });

  it("lets only so many wait at once", async () => {
    const opened = await open();
    const held: ServerResponse[] = [];
    opened.there.forge({ paths: { [DISCOVERY]: (response) => void held.push(response) } });
    const ask = () => failureOf(opened.provider.authorizationUrl(ATTEMPT, REDIRECT));
    const waiting = Array.from({ length: 16 }, ask);
    expect((await ask())[0]).toBe("busy");
    await expect.poll(() => held.length, PATIENCE).toBe(1);
    for (const response of held) response.destroy();
    expect(new Set((await Promise.all(waiting)).map(([kind]) => kind))).toEqual(
      new Set(["unreachable"]),
    );
  });

  it("says that nobody is there, and does not trust a stranger's certificate", async () => {
    const { provider } = await open({ issuer: "http://127.0.0.1:1" });
    expect((await failureOf(provider.authorizationUrl(ATTEMPT, REDIRECT)))[0]).toBe("unreachable");
    const there = await startForgingProvider();
    const other = await open({ issuer: there.issuer });
    const failure = await failureOf(other.provider.authorizationUrl(ATTEMPT, REDIRECT));
    expect(failure[0]).toBe("unreachable");
  });
});

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
