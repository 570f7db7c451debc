/**
 * The console over HTTP: access control, and the header fields of every response. Pages are the same for everyone;
 * their content comes from the API, behind the same session.
 * 303 a page without a session · 401 the API without one · 403 another origin, a wrong token, a change by a viewer ·
 * 404 · 405 · 421 another name · 500 a fault, with an id that the log has too · 503 the store fails
 */
import { timingSafeEqual } from "node:crypto";
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from "fastify";
import { readAuthority } from "../../base/addresses.ts";
import type { Gateway, HttpAnswer } from "../../dispatch/module/http-gateway.ts";
import { storeOutcomeUnknown } from "../../dispatch/refusals/store-refusals.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import { isStoreUnavailable } from "../../state/store-fault.ts";
import type { WireFault, WireFaultCode } from "../../wire/message.ts";
import { type Admit, type ApiParts, addApi, queryOf } from "./console-api.ts";
import { ConsoleFault, refuseOtherMethods } from "./console-fault.ts";
import { addOidc, type OidcParts } from "./oidc.ts";
import type { PageFiles } from "./page-files.ts";
import { addPages, askedPage } from "./page-routes.ts";
import type { ConsolePlace } from "./place.ts";
import type { LoginLinks, Session, SignedIn } from "./sessions.ts";
import { sendHtml, signInPage } from "./sign-in-page.ts";

export interface ConsoleParts extends ApiParts {
  readonly place: ConsolePlace;
  readonly links: LoginLinks;
  readonly pages: PageFiles;
  /** Undefined if no provider signs people in. */
  readonly oidc: OidcParts | undefined;
  /** True if the page at an address, in decoded segments, has something to show. */
  isThere(segments: readonly string[]): boolean | Promise<boolean>;
  reportFault(errorId: string, error: unknown): void;
}

const MAX_BODY_BYTES = 65_536;
/** Encoded tool names and passkey ids exceed Fastify's default of 100 characters. */
const MAX_PARAMETER_LENGTH = 4_096;

/** Builds the console's server; it never listens itself. */
export async function createConsole(parts: ConsoleParts): Promise<Gateway> {
  const fields = answerFields(parts.pages);
  const app = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    exposeHeadRoutes: true,
    // No hook runs for an unreadable address, so the fields are set here.
    frameworkErrors: (error, _request, reply) => {
      void answerError(error, reply.headers(fields), parts);
    },
    requestIdHeader: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(fields);
    const host = request.headers.host ?? "";
    const { authority = host } = readAuthority(request.originalUrl);
    if (!parts.place.isOurs(host) || !parts.place.isOurs(authority)) {
      throw new ConsoleFault(421, "host-not-allowed", "the console is not called by that name");
    }
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead && !parts.place.isOwnOrigin(request.headers.origin, host)) {
      throw new ConsoleFault(403, "origin-not-allowed", "only the console's own pages may do that");
    }
  });
  app.setErrorHandler((error: FastifyError, _request, reply) => answerError(error, reply, parts));
  const allowed = refuseOtherMethods(app);
  addSignIn(app, parts);
  if (parts.oidc !== undefined) {
    addOidc(app, parts.oidc, (request) => signedInBy(request, parts)?.token);
  }
  const admitted: Admit = (request, isChange) => admit(request, isChange, parts);
  addPages(app, { ...parts, admit: admitted, signedInBy: (request) => signedInBy(request, parts) });
  addApi(app, parts, admitted);
  allowed.close();
  await app.ready();
  return {
    handle: (request, reply) => app.routing(request, reply),
    answerFault: async (fault) => faultAnswer(fault, fields),
    close: async () => {
      parts.events.close();
      await app.close();
    },
  };
}

/** Answers an error; faults are logged, and the response does not reveal their cause. */
function answerError(
  error: FastifyError,
  reply: FastifyReply,
  { reportFault }: ConsoleParts,
): FastifyReply {
  const status = error.statusCode ?? 500;
  if (error instanceof ConsoleFault || (status >= 400 && status < 500)) {
    const code = error instanceof ConsoleFault ? error.code : "invalid-request";
    return reply.code(status).send({ error: { code, message: error.message } });
  }
  if (isStoreUnavailable(error)) {
    // The store itself logs the fault, once.
    const { code, message } = storeOutcomeUnknown();
    return reply.code(503).header("retry-after", "1").send({ error: { code, message } });
  }
  const errorId = uuidv7();
  reportFault(errorId, error);
  const message = `something went wrong; the log has it under ${errorId}`;
  return reply.code(500).send({ error: { code: "internal-error", message, error_id: errorId } });
}

/** Returns the request's session. @throws ConsoleFault without a session, or for a change that it may not make */
function admit(request: FastifyRequest, isChange: boolean, parts: ConsoleParts): SignedIn {
  const signedIn = signedInBy(request, parts);
  if (signedIn === undefined) throw new ConsoleFault(401, "signed-out", "sign in first");
  if (!isChange) return signedIn;
  checkCsrf(request, signedIn);
  if (signedIn.person.role !== "operator") {
    throw new ConsoleFault(403, "viewer", "a viewer sees, and changes nothing");
  }
  return signedIn;
}

function checkCsrf({ headers }: FastifyRequest, { csrf }: Session): void {
  const said = Buffer.from(String(headers["x-csrf-token"] ?? ""));
  const expected = Buffer.from(csrf);
  if (said.length === expected.length && timingSafeEqual(said, expected)) return;
  throw new ConsoleFault(403, "csrf-token", "X-CSRF-Token is not that of the session");
}

function signedInBy(
  { headers }: FastifyRequest,
  { sessions, place }: ConsoleParts,
): SignedIn | undefined {
  for (const token of place.cookies.read(headers.cookie)) {
    const session = sessions.find(token);
    if (session !== undefined) return { ...session, token };
  }
  return undefined;
}

/** Adds the pages that need no session. */
function addSignIn(app: FastifyInstance, parts: ConsoleParts): void {
  const { links, sessions, place, oidc } = parts;
  const provider = oidc && new URL(oidc.oidc.issuer).host;
  app.get("/sign-in", async (request, reply) => {
    const link = queryOf(request).get("link") ?? undefined;
    const person = link === undefined ? undefined : links.find(link);
    return sendHtml(reply, signInPage({ link, person, provider }));
  });
  app.post("/sign-in", async (request, reply) => {
    const { body, headers } = request;
    const link = new URLSearchParams(typeof body === "string" ? body : "").get("link") ?? "";
    const person = links.redeem(link);
    if (person === undefined) {
      return sendHtml(reply.code(403), signInPage({ link, person, provider }));
    }
    const before = signedInBy(request, parts);
    reply.header("set-cookie", place.cookies.set(await sessions.begin(person)));
    if (before !== undefined) await sessions.end(before.token);
    const asked = askedPage(headers.cookie, place);
    if (asked !== undefined) reply.header("set-cookie", place.cookies.clear("page"));
    return reply
      .code(303)
      .header("location", asked ?? "/")
      .send();
  });
  app.post("/sign-out", async (request, reply) => {
    const signedIn = signedInBy(request, parts);
    if (signedIn !== undefined) {
      checkCsrf(request, signedIn);
      await sessions.end(signedIn.token);
    }
    reply.header("set-cookie", place.cookies.clear());
    return reply.code(204).send();
  });
}

/** Header fields by lower-case name. */
type AnswerFields = Readonly<Record<string, string>>;

const FIELDS = {
  "x-content-type-options": "nosniff",
  // Without it a browser sends Origin "null" with the sign-in form.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
} as const;

/** Fields of every response: scripts load from this console alone, and only the inline one with this hash runs. */
function answerFields({ scriptHash }: PageFiles): AnswerFields {
  const policy =
    `default-src 'none'; script-src 'self' '${scriptHash}'; style-src 'self'; img-src 'self' data:; ` +
    "font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
  return { "content-security-policy": policy, ...FIELDS };
}

const STATUS: Readonly<Partial<Record<WireFaultCode, number>>> = {
  "header-too-large": 431,
  "request-timeout": 408,
};

/** Answers octets that are not an HTTP request. */
function faultAnswer({ code, message }: WireFault, fields: AnswerFields): HttpAnswer {
  const all = { ...fields, "content-type": "application/json; charset=utf-8" };
  return {
    status: STATUS[code] ?? 400,
    fields: new Map(Object.entries(all).map(([name, value]) => [name, [value]])),
    body: JSON.stringify({ error: { code, message } }),
  };
}
