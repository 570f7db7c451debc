/** An OpenID provider that says what a test wants: true, wrong, too much, or nothing. */
import type { ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import { startUpstream } from "./https-upstream.ts";
import { type IssuerKey, makeIssuerKey, signToken } from "./token-issuer.ts";

/** The lies of a provider. */
export interface Forgery {
  /** Members of its document instead of the true ones. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Claims of the ID token instead of the true ones. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** The key that signs; the published one unless given. */
  readonly key?: IssuerKey;
  /** Answers a path by itself. */
  readonly paths?: Readonly<Record<string, (response: ServerResponse) => void>>;
}

/** One that runs. */
export interface ForgingProvider {
  readonly issuer: string;
  readonly ca: string;
  /** The paths that were asked for, in turn. */
  readonly asked: readonly string[];
  /** Lies so from now on; the nonce of the ID token is this. */
  forge(forgery: Forgery, nonce?: string): void;
}

/** Its client. */
export const CLIENT_ID = "agtpd";

/** The key of all of them: to make one takes a quarter of a second. */
let published: Promise<IssuerKey> | undefined;

/** Starts one, which is honest. */
export async function startForgingProvider(): Promise<ForgingProvider> {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  published ??= makeIssuerKey("RS256");
  const key = await published;
  const issuer = upstream.origin;
  const asked: string[] = [];
  let forgery: Forgery = {};
  let nonce = "";
  const answers: Readonly<Record<string, () => Promise<unknown>>> = {
    "/.well-known/openid-configuration": async () => ({
      ...{ issuer, authorization_endpoint: `${issuer}/authorize` },
      ...{ token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` },
      ...{ response_types_supported: ["code"], subject_types_supported: ["public"] },
      id_token_signing_alg_values_supported: ["RS256"],
      ...forgery.metadata,
    }),
    "/keys": async () => ({ keys: [key.jwk] }),
    "/token": async () => ({
      ...{ access_token: "a", token_type: "Bearer", expires_in: 60 },
      id_token: await tokenOf({ key, issuer, nonce, forgery }),
    }),
  };
  upstream.respond((response, { url }) => {
    const [path = ""] = url.split("?");
    asked.push(path);
    const own = forgery.paths?.[path];
    if (own !== undefined) {
      own(response);
      return;
    }
    void answers[path]?.().then((body) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    });
  });
  return {
    ...{ issuer, ca: upstream.ca, asked },
    forge(next, expected = nonce) {
      forgery = next;
      nonce = expected;
    },
  };
}

interface TokenParts {
  readonly key: IssuerKey;
  readonly issuer: string;
  readonly nonce: string;
  readonly forgery: Forgery;
}

function tokenOf({ key, issuer, nonce, forgery }: TokenParts): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    ...{ iss: issuer, sub: "ada", aud: CLIENT_ID, nonce, iat: now, exp: now + 60 },
    ...{ name: "Ada", groups: ["staff"] },
    ...forgery.claims,
  };
  return signToken(forgery.key ?? key, claims);
}
