/**
 * Signing in at the provider: `POST /oidc/sign-in` sends the person there, `/oidc/callback` takes
 * them back. Both answer pages that go on by themselves: a form may not lead to another host, and a
 * browser brings its session to no page that another host sent it to.
 * 403 not this browser's, declined, in no list · 502, 503, 504 the provider
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { clearCookie, readCookie, setCookie } from "./cookie.ts";
import type { OidcAttempts } from "./oidc-attempts.ts";
import { asOidcFailure, OidcFailure } from "./oidc-failure.ts";
import type { OidcProvider } from "./oidc-provider.ts";
import { type Grant, personOf, roleOf } from "./oidc-roles.ts";
import type { OidcConfig } from "./oidc-section.ts";
import type { Person } from "./person.ts";
import type { ConsolePlace } from "./place.ts";
import { onwardPage, refusalPage } from "./sign-in-page.ts";

/** The parts of these routes. */
export interface OidcParts {
  readonly oidc: OidcConfig;
  readonly provider: OidcProvider;
  readonly attempts: OidcAttempts;
  readonly place: ConsolePlace;
  /** Begins the person's session, and answers the cookie's value. */
  begin(person: Person, grant: Grant): Promise<string>;
  reportFailure(failure: OidcFailure): void;
}

const CALLBACK = "/oidc/callback";

/** Adds the routes. */
export function addOidc(app: FastifyInstance, parts: OidcParts): void {
  app.post("/oidc/sign-in", (request, reply) =>
    telling(reply, parts, () => sendAway(request, reply, parts)),
  );
  app.get(CALLBACK, (request, reply) =>
    telling(reply, parts, () => takeBack(request, reply, parts)),
  );
}

/** A failure is a page that says so, and a line of the log. */
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
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { provider, attempts, place }: OidcParts,
): Promise<FastifyReply> {
  // The provider sends people to that name alone, and the cookie has to be there.
  if (headers.origin !== new URL(place.baseUrl).origin) {
    return sendHtml(reply, onwardPage(`${place.baseUrl}/sign-in`));
  }
  const { attempt, cookie } = await attempts.begin();
  const address = await provider.authorizationUrl(attempt, place.baseUrl + CALLBACK);
  reply.header("set-cookie", setCookie(cookie, place.isSecure, "attempt"));
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
  const cookie = readCookie(headers.cookie, place.isSecure, "attempt");
  const attempt = await attempts.take(cookie, answer.searchParams.get("state"));
  if (attempt === undefined) throw new OidcFailure("state", "the state is not this browser's");
  reply.header("set-cookie", clearCookie(place.isSecure, "attempt"));
  const claims = await provider.claimsOf(answer, attempt);
  const granted = roleOf(claims, oidc);
  if (granted === undefined) {
    const { id } = personOf(claims, "viewer");
    throw new OidcFailure("no-role", `${oidc.roleClaim} has no value of the lists`, id);
  }
  const person = personOf(claims, granted.role);
  const session = setCookie(await parts.begin(person, granted.grant), place.isSecure);
  reply.header("set-cookie", session);
  return sendHtml(reply, onwardPage("/"));
}

function sendHtml(reply: FastifyReply, html: string): FastifyReply {
  return reply.type("text/html; charset=utf-8").send(html);
}
