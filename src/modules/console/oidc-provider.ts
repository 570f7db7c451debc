/**
 * The OpenID provider: discovered at the first sign-in, with bounded requests; only its signed tokens are trusted.
 * Code flow with PKCE, state and nonce.   OpenID Connect Core §3.1, RFC 9700
 */
import * as client from "openid-client";
import { isLoopbackHost, isNobodysAddress } from "../../base/addresses.ts";
import { createHttpClient, readBoundedBody } from "../../handlers/connection-options.ts";
import type { OidcConfig } from "./config.ts";
import { asOidcFailure, OidcFailure } from "./oidc-failure.ts";
import { type Claims, claimOf, isNamed, isOneLine } from "./person.ts";

interface OidcProviderOptions {
  readonly oidc: OidcConfig;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca: string | undefined;
  /** Timeout of each request. */
  readonly timeoutMs?: number;
}

/** The secrets that one authorization response is checked against. */
export interface OidcAttempt {
  readonly state: string;
  readonly nonce: string;
  /** PKCE code verifier, RFC 7636. */
  readonly verifier: string;
}

/** Builds the authorization request and redeems the response. */
export interface OidcProvider {
  /** Returns the URL at which the person signs in. @throws OidcFailure */
  authorizationUrl(attempt: OidcAttempt, redirectUri: string): Promise<URL>;
  /** Returns the claims of the person who signed in. @throws OidcFailure */
  claimsOf(answer: URL, attempt: OidcAttempt): Promise<Claims>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 10_000;
/** The provider's metadata is fetched anew after this time. */
const KNOWN_FOR_MS = 600_000;
const MAX_AT_ONCE = 16;
/** Maximal length of `sub`, OpenID Connect Core §2. */
const MAX_SUB = 255;

interface Known {
  readonly configuration: Promise<client.Configuration>;
  readonly until: number;
}

/** Creates the provider; nothing is fetched yet. */
export function createOidcProvider(options: OidcProviderOptions): OidcProvider {
  const { oidc, ca } = options;
  const { fetch, close } = createOidcFetch(oidc.issuer, ca);
  let known: Known | undefined;
  let underWay = 0;
  const configuration = (): Promise<client.Configuration> => {
    if (known !== undefined && known.until > performance.now()) return known.configuration;
    const found = {
      configuration: discover(options, fetch),
      until: performance.now() + KNOWN_FOR_MS,
    };
    known = found;
    found.configuration.catch(() => {
      if (known === found) known = undefined;
    });
    return found.configuration;
  };
  const bounded = async <T>(work: () => Promise<T>): Promise<T> => {
    if (underWay >= MAX_AT_ONCE) throw new OidcFailure("busy", "too many sign-ins at once");
    underWay += 1;
    try {
      return await work();
    } catch (error) {
      throw asOidcFailure(error);
    } finally {
      underWay -= 1;
    }
  };
  return {
    authorizationUrl: (attempt, redirectUri) =>
      bounded(async () => addressOf(await configuration(), attempt, { oidc, redirectUri })),
    claimsOf: (answer, attempt) =>
      bounded(async () => readClaims(await configuration(), { oidc, answer, attempt })),
    close,
  };
}

type Fetch = ReturnType<typeof createOidcFetch>["fetch"];

function discover(
  { oidc, timeoutMs = TIMEOUT_MS }: OidcProviderOptions,
  fetch: Fetch,
): Promise<client.Configuration> {
  const issuer = new URL(oidc.issuer);
  const isPlain = issuer.protocol === "http:";
  return client.discovery(issuer, oidc.clientId, undefined, authenticationOf(oidc), {
    [client.customFetch]: fetch,
    timeout: timeoutMs / 1000,
    execute: [
      client.enableNonRepudiationChecks,
      // The configuration allows http on loopback only, and this fetch reaches nothing else by it.
      ...(isPlain ? [client.allowInsecureRequests] : []),
    ],
  });
}

/** Authenticates by the secret, in the way that the provider supports, or without one by PKCE alone. */
function authenticationOf({ clientSecret }: OidcConfig): client.ClientAuth {
  if (clientSecret === undefined) return client.None();
  const basic = client.ClientSecretBasic(clientSecret);
  const post = client.ClientSecretPost(clientSecret);
  return (server, ...rest) => {
    const { token_endpoint_auth_methods_supported: methods } = server;
    const isBasic = methods === undefined || methods.includes("client_secret_basic");
    return (isBasic ? basic : post)(server, ...rest);
  };
}

async function addressOf(
  configuration: client.Configuration,
  { state, nonce, verifier }: OidcAttempt,
  { oidc, redirectUri }: { readonly oidc: OidcConfig; readonly redirectUri: string },
): Promise<URL> {
  const url = client.buildAuthorizationUrl(configuration, {
    ...{ redirect_uri: redirectUri, scope: oidc.scope, state, nonce },
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  const isWeb = url.protocol === "https:" || url.protocol === "http:";
  if (isWeb && url.username === "" && url.password === "") return url;
  throw new OidcFailure("unacceptable", "its authorization_endpoint is no web address");
}

interface Answered {
  readonly oidc: OidcConfig;
  readonly answer: URL;
  readonly attempt: OidcAttempt;
}

async function readClaims(
  configuration: client.Configuration,
  { oidc, answer, attempt: { state, nonce, verifier } }: Answered,
): Promise<Claims> {
  const tokens = await client.authorizationCodeGrant(configuration, answer, {
    ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier },
    idTokenExpected: true,
  });
  const claims = tokens.claims();
  if (claims === undefined || !isSubject(claims.sub)) {
    throw new OidcFailure("unacceptable", "its ID token has no usable sub");
  }
  const isEnough = claimOf(claims, oidc.roleClaim) !== undefined && isNamed(claims);
  if (isEnough || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
  const more = await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
  return { ...more, ...claims };
}

/** Records identify the person by it, so no two subjects may look alike in a store or a log. */
function isSubject(sub: string): boolean {
  return sub !== "" && sub.length <= MAX_SUB && isOneLine(sub);
}

const MAX_ANSWER_BYTES = 262_144;
const MAX_CONNECTIONS = 8;
const CONNECT_TIMEOUT_MS = 5_000;
/** Statuses for which `Response` accepts no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** The request options that the library passes. */
interface Asked {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The fetch for an OpenID provider: verified connections, no redirects, bounded responses. Plain HTTP is for providers
 * on this machine.
 */
function createOidcFetch(issuer: string, ca: string | undefined) {
  const needs = { connections: MAX_CONNECTIONS, connectTimeoutMs: CONNECT_TIMEOUT_MS, ca };
  const http = createHttpClient(needs);
  return {
    async fetch(url: string, { method, headers, body, signal }: Asked): Promise<Response> {
      checkAddress(url, issuer);
      const answer = await http.request(url, {
        ...{ method: method as "GET", signal: signal ?? null },
        headers: { ...headers, "accept-encoding": "identity", "user-agent": "agtpd" },
        ...(body === undefined || body === null ? {} : { body: String(body) }),
      });
      const octets = await readBoundedBody(MAX_ANSWER_BYTES, answer);
      if (octets === undefined) {
        throw new OidcFailure("unacceptable", `an answer is longer than ${MAX_ANSWER_BYTES} bytes`);
      }
      const { statusCode: status } = answer;
      const fields = new Headers();
      for (const [name, value] of Object.entries(answer.headers)) {
        for (const one of [value ?? []].flat()) fields.append(name, one);
      }
      const sent = WITHOUT_BODY.has(status) ? null : new Uint8Array(octets);
      return new Response(sent, { status, headers: fields });
    },
    close: (): Promise<void> => http.close(),
  };
}

/**
 * Checks a URL from the provider's own metadata. A literal IP address is never looked up, so it is checked here: a
 * provider elsewhere must not name this machine.
 */
function checkAddress(url: string, issuer: string): void {
  const { protocol } = new URL(url);
  const host = hostOf(url);
  const isOwn = isLoopbackHost(host);
  if (isNobodysAddress(host) || (isOwn && !isLoopbackHost(hostOf(issuer)))) {
    throw new OidcFailure("unacceptable", "it names an address that it may not have");
  }
  if (protocol === "https:" || (protocol === "http:" && isOwn)) return;
  throw new OidcFailure("unacceptable", "it names an address that is not https");
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, "");
}
