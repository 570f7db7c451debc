/**
 * Sign-in at the provider: `POST /oidc/sign-in` sends the person there, `/oidc/callback` receives the response. Both
 * answer pages that redirect by themselves: the form policy forbids another host, and a browser sends no session
 * cookie with a redirect from another host.
 * 403 not this browser's, declined, in no list · 502, 503, 504 the provider
 */
import { randomBytes } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { EncryptJWT, jwtDecrypt } from "jose";
import { quietened } from "../../base/back-off.ts";
import type { Problem } from "../../base/problem.ts";
import { recentlyUsed } from "../../base/recently-used.ts";
import { readConfiguredCa } from "../../endpoint/upstream-ca.ts";
import type { ConsoleContext, OidcConfig } from "./config.ts";
import { asOidcFailure, OidcFailure } from "./oidc-failure.ts";
import type { OidcAttempt, OidcProvider } from "./oidc-provider.ts";
import { askedPage } from "./page-routes.ts";
import { type Grant, type Person, personOf, roleFault, roleOf } from "./person.ts";
import type { ConsolePlace } from "./place.ts";
import type { Sessions } from "./sessions.ts";
import { onwardPage, refusalPage, sendHtml } from "./sign-in-page.ts";

/** Dependencies of these routes. */
export interface OidcParts {
  readonly oidc: OidcConfig;
  readonly provider: OidcProvider;
  readonly attempts: OidcAttempts;
  readonly place: ConsolePlace;
  /** Begins the person's session in place of another one, and returns the cookie's value. */
  begin(person: Person, grant: Grant, replaced: string): Promise<string>;
  reportFailure(failure: OidcFailure): void;
}

const CALLBACK = "/oidc/callback";

/** Returns the session cookie's value of a request. */
type TokenOf = (request: FastifyRequest) => string | undefined;

/** Adds the OIDC routes. */
export function addOidc(app: FastifyInstance, parts: OidcParts, tokenOf: TokenOf): void {
  app.post("/oidc/sign-in", (request, reply) =>
    telling(reply, parts, () => sendAway(request, reply, parts, tokenOf)),
  );
  app.get(CALLBACK, (request, reply) =>
    telling(reply, parts, () => takeBack(request, reply, parts)),
  );
}

/** Runs a handler; an OIDC failure becomes a page, and a line of the log. */
async function telling(
  reply: FastifyReply,
  { reportFailure }: OidcParts,
  work: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await work();
  } catch (error) {
    const failure = asOidcFailure(error);
    reportFailure(failure);
    return sendHtml(reply.code(failure.status), refusalPage(failure.message));
  }
}

async function sendAway(
  request: FastifyRequest,
  reply: FastifyReply,
  { provider, attempts, place }: OidcParts,
  tokenOf: TokenOf,
): Promise<FastifyReply> {
  // The provider redirects to base_url alone, so the cookie must be set there.
  if (request.headers.origin !== new URL(place.baseUrl).origin) {
    return sendHtml(reply, onwardPage(`${place.baseUrl}/sign-in`));
  }
  const { attempt, cookie } = await attempts.begin(tokenOf(request));
  const address = await provider.authorizationUrl(attempt, place.baseUrl + CALLBACK);
  reply.header("set-cookie", place.cookies.set(cookie, "attempt"));
  return sendHtml(reply, onwardPage(address.href));
}

async function takeBack(
  { url, headers }: FastifyRequest,
  reply: FastifyReply,
  parts: OidcParts,
): Promise<FastifyReply> {
  const { oidc, provider, attempts, place } = parts;
  const [, ...query] = url.split("?");
  const answer = new URL(`${place.baseUrl}${CALLBACK}?${query.join("?")}`);
  const cookie = place.cookies.read(headers.cookie, "attempt")[0];
  const attempt = await attempts.take(cookie, answer.searchParams.get("state"));
  if (attempt === undefined) throw new OidcFailure("state", "the state is not this browser's");
  reply.header("set-cookie", place.cookies.clear("attempt"));
  const claims = await provider.claimsOf(answer, attempt);
  const granted = roleOf(claims, oidc);
  if (granted === undefined) {
    const { id } = personOf(claims, "viewer");
    throw new OidcFailure("no-role", roleFault(claims, oidc), id);
  }
  const person = personOf(claims, granted.role);
  const token = await parts.begin(person, granted.grant, attempt.session);
  reply.header("set-cookie", place.cookies.set(token));
  const asked = askedPage(headers.cookie, place);
  if (asked !== undefined) reply.header("set-cookie", place.cookies.clear("page"));
  return sendHtml(reply, onwardPage(asked ?? "/"));
}

interface OpenedOidc {
  /** Undefined if no provider is configured. */
  readonly oidc: OidcParts | undefined;
  readonly problems: readonly Problem[];
  close(): Promise<void>;
}

const NONE: OpenedOidc = { oidc: undefined, problems: [], close: async () => undefined };

/** Opens the sign-in at a provider; connects to nothing yet. */
export async function openOidc(
  context: ConsoleContext,
  { place, sessions }: { readonly place: ConsolePlace; readonly sessions: Sessions },
): Promise<OpenedOidc> {
  const { oidc } = context.config.console;
  if (oidc === undefined) return NONE;
  const { ca, problems } = readConfiguredCa(oidc.ca, "console.oidc.ca", context.config);
  if (problems.length > 0) return { ...NONE, problems };
  const { createOidcProvider } = await import("./oidc-provider.ts");
  const provider = createOidcProvider({ oidc, ca });
  const attempts = await context.once(openAttempts);
  const { log } = context;
  const begin: OidcParts["begin"] = async (person, grant, replaced) => {
    const token = await sessions.begin(person, grant);
    await sessions.end(replaced);
    const { id, role } = person;
    log.info({ event: "console-signed-in", person: id, role, via: "oidc" }, "somebody signed in");
    return token;
  };
  // Strangers can cause the same line as often as they like.
  const reportFailure = quietened(({ kind, reason, personId }: OidcFailure) =>
    log.warn(
      { event: "console-sign-in-refused", kind, reason, ...(personId && { person: personId }) },
      "somebody was not signed in by the provider",
    ),
  );
  const parts = { oidc, provider, attempts, place, begin, reportFailure };
  return { oidc: parts, problems: [], close: () => provider.close() };
}

/** Kept across reloads, so that a person who is at the provider can come back. */
const openAttempts = (): OidcAttempts => new OidcAttempts();

const TTL_S = 600;
const MAX_USED = 4_096;
const HEADER = { alg: "dir", enc: "A256GCM" } as const;

interface BegunAttempt extends OidcAttempt {
  /** The session cookie at that time, which the provider's redirect does not carry. */
  readonly session: string;
}

/**
 * Sign-ins in progress. Each attempt's secrets travel in the browser's own cookie, sealed with a key of this process,
 * so that nothing is stored for abandoned sign-ins. An attempt is valid once, for ten minutes.
 */
class OidcAttempts {
  readonly #key = randomBytes(32);
  readonly #used = recentlyUsed<true>(MAX_USED, TTL_S * 1_000);

  /** Begins an attempt, and returns it with the value of its cookie. */
  async begin(session = ""): Promise<{ readonly attempt: OidcAttempt; readonly cookie: string }> {
    const attempt = { state: secret(), nonce: secret(), verifier: secret(), session };
    const cookie = await new EncryptJWT({ ...attempt })
      .setProtectedHeader(HEADER)
      .setExpirationTime(`${TTL_S} seconds`)
      .encrypt(this.#key);
    return { attempt, cookie };
  }

  /** Uses up and returns the cookie's attempt if the state matches; undefined otherwise. */
  async take(cookie: string | undefined, state: string | null): Promise<BegunAttempt | undefined> {
    const attempt = cookie === undefined ? undefined : await this.#open(cookie);
    if (attempt === undefined || attempt.state !== state) return undefined;
    if (this.#used.has(attempt.state)) return undefined;
    this.#used.set(attempt.state, true);
    return attempt;
  }

  async #open(cookie: string): Promise<BegunAttempt | undefined> {
    try {
      const { payload } = await jwtDecrypt<BegunAttempt>(cookie, this.#key, {
        keyManagementAlgorithms: [HEADER.alg],
        contentEncryptionAlgorithms: [HEADER.enc],
        requiredClaims: ["exp"],
      });
      return payload;
    } catch {
      return undefined;
    }
  }
}

function secret(): string {
  return randomBytes(32).toString("base64url");
}
