/**
 * The HTTP sidecar of one deployment: every API on one Fastify instance, which never listens itself. Paths that no API
 * claims go to the AGTP endpoints, as the client wrote them. Answered here: 403 another origin · 404 nothing at a
 * claimed path · 421 another server's name · 429 too much for one account, unless its API answers that · 431 too many
 * fields · 500 a fault, with an id that is also logged.   AGTP "HTTP Gateway"
 */
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from "fastify";
import { readAuthority } from "../../base/addresses.ts";
import type { Gateway } from "../../dispatch/module/http-gateway.ts";
import type { HttpPlugin, HttpRoute } from "../../dispatch/module/http-route.ts";
import { networkOwner, type RateExcess } from "../../dispatch/rates/rates.ts";
import type { Toll } from "../../dispatch/rates/toll.ts";
import { rateLimited, refusalBody, serverError } from "../../dispatch/refusals/refusal.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import { type ExportSource, exportOpenapi } from "../../openapi/export-openapi.ts";
import type { LimitsConfig } from "../../wire/limits-section.ts";
import { splitTarget } from "../../wire/message.ts";
import { isWireFault } from "../../wire/message-parser.ts";
import { createHostPolicy, createOriginPolicy } from "./browser-guard.ts";
import type { GatewaySections } from "./config.ts";
import { AGTP_ROUTE, createEndpointApi } from "./endpoint-api.ts";
import {
  entityTag,
  errorBody,
  faultStatus,
  isNoneMatch,
  sendRefusal,
  writeAnswer,
} from "./http-answer.ts";
import { createHttpEntrance, type HttpEntranceParts } from "./http-entrance.ts";
import { isUnder, METHODS, OPENAPI_PATH, readTarget } from "./http-target.ts";

/** The dependencies of a sidecar. */
export interface GatewayParts extends HttpEntranceParts {
  readonly config: Pick<GatewaySections, "server" | "gateway" | "limits">;
  readonly httpRoutes: readonly HttpRoute[];
  /** Limits the rate of requests that bypass the pipeline. */
  readonly toll: Toll;
  /** The source of `/openapi.json`, complete once the port is known. */
  openapiSource(): ExportSource;
  reportFault(errorId: string, error: unknown): void;
}

/** The longest path segment of an HTTP API, above Fastify's default of 100 characters. */
const MAX_PARAMETER_LENGTH = 1024;

/** Builds the sidecar. Throws if a route cannot be registered. */
export async function createGateway(parts: GatewayParts): Promise<Gateway> {
  const { config, httpRoutes: routes, verbs, agent } = parts;
  const { serverId } = config.server;
  const { limits } = config;
  const isClaimed = claimsOf(routes, OPENAPI_PATH);
  const pipeline = createHttpEntrance(parts);
  const app = fastify({
    logger: false,
    bodyLimit: limits.bodyBytes,
    exposeHeadRoutes: false,
    requestIdHeader: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    // The path grammar reads the paths of AGTP endpoints, not a router.
    rewriteUrl: ({ url = "" }) => {
      const { relative } = readAuthority(url);
      return isClaimed(relative) ? relative : AGTP_ROUTE;
    },
    frameworkErrors: (_error, request, reply) => {
      const route = routeOf(routes, request.raw.url ?? "");
      if (takeToll(request, reply, parts.toll, route) !== undefined) return;
      if (route?.answerUndecodable !== undefined) route.answerUndecodable(request, reply);
      else sendRefusal(reply, 400, errorBody("invalid-request-line", "the path cannot be decoded"));
    },
  });
  addHooks(app, parts, routes);
  app.setErrorHandler((error: FastifyError, _request, reply) =>
    answerError(error, reply, parts.reportFault),
  );
  app.setNotFoundHandler((request, reply) => {
    const isDocument = splitTarget(request.url).path === OPENAPI_PATH;
    if (request.url !== AGTP_ROUTE && !isDocument) return sendRefusal(reply, 404, NOT_FOUND);
    // Methods that are never passed to the pipeline, such as TRACE.
    const message = `method "${request.method}" is not served`;
    reply.header("allow", isDocument ? DOCUMENT_METHODS : METHODS.join(", "));
    return sendRefusal(reply, 405, errorBody("method-not-allowed", message));
  });
  app.register(async (scope) =>
    createEndpointApi({ serverId, agent, limits, verbs, pipeline })(scope),
  );
  app.register(async (scope) => createOpenapiRoutes(parts.openapiSource, parts.toll)(scope));
  for (const { prefix, plugin } of routes) {
    app.register(async (scope) => plugin(scope), { prefix });
  }
  await app.ready();
  return {
    handle: (request, reply) => app.routing(request, reply),
    answerFault: async (fault, peer) => {
      const response = await pipeline.refuse(fault, peer);
      const asked = { method: "", accept: undefined, ifNoneMatch: undefined, allowed: () => [] };
      return response && writeAnswer(response, asked, { serverId }, faultStatus(fault.code));
    },
    close: async () => app.close(),
  };
}

const NOT_FOUND = errorBody("endpoint-not-found", "nothing is served at this path");

const ANOTHER_HOST = errorBody("host-not-allowed", "this server is not called by that name");

function addHooks(
  app: FastifyInstance,
  { config, toll, verbs }: GatewayParts,
  routes: readonly HttpRoute[],
): void {
  const { server, gateway, limits } = config;
  const isOurs = createHostPolicy(gateway);
  const judge = createOriginPolicy(gateway.corsOrigins);
  app.addHook("onRequest", async (request, reply) => {
    const { method, headers, raw, originalUrl } = request;
    reply.header("server-id", server.serverId).header("x-content-type-options", "nosniff");
    const excess = headerExcess(raw.rawHeaders, limits);
    if (excess !== undefined) {
      return sendRefusal(reply, 431, errorBody("header-too-large", excess));
    }
    if (!isOurs({ target: originalUrl, said: headers.host })) {
      return sendRefusal(reply, 421, ANOTHER_HOST);
    }
    const { origin, "sec-fetch-site": site, "access-control-request-method": asksFor } = headers;
    const verdict = judge({ method, origin, site: site?.toString(), asksFor });
    // The pipeline limits its own requests, because it knows their callers.
    const isPipelines = request.url === AGTP_ROUTE && method !== "OPTIONS";
    const isEffect = verdict.kind === "reading" && isPipelines && mayChange(request, verbs);
    if (verdict.kind === "refused" || isEffect) {
      const message = "pages of this origin may not call this server";
      return sendRefusal(reply, 403, errorBody("origin-not-allowed", message));
    }
    for (const [name, value] of verdict.fields) reply.header(name, value);
    if (verdict.kind === "preflight") return reply.code(204).send();
    return isPipelines ? undefined : takeToll(request, reply, toll, routeOf(routes, request.url));
  });
  app.addHook("onSend", async (request, reply) => {
    // Closing while the client still sends could destroy the answer, so the rest of the body is read and dropped, up
    // to the limit of a body.   RFC 9112 §9.6
    if (!request.raw.complete) reply.removeHeader("connection");
    // Bounds the wait for a client that does not read its answer.
    reply.raw.setTimeout(limits.idleTimeoutMs);
  });
}

/** Tells whether the endpoint does more than inform, which another page's link or image must not cause. */
function mayChange({ method, originalUrl }: FastifyRequest, verbs: GatewayParts["verbs"]): boolean {
  const target = readTarget(originalUrl, originalUrl.length);
  return !isWireFault(target) && verbs.mayChange(method, target.path);
}

function routeOf(routes: readonly HttpRoute[], url: string): HttpRoute | undefined {
  const { path } = splitTarget(url);
  return routes.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));
}

/** Answers a request above its rate limit; undefined if it is admitted. */
function takeToll(
  request: FastifyRequest,
  reply: FastifyReply,
  toll: Toll,
  route: HttpRoute | undefined,
): FastifyReply | undefined {
  const payer = route?.payerOf?.(request) ?? networkOwner(request.socket.remoteAddress ?? "");
  const excess = toll.admit(payer);
  return excess && sendExcess(excess, reply, route);
}

function sendExcess(
  excess: RateExcess,
  reply: FastifyReply,
  route: HttpRoute | undefined,
): FastifyReply {
  reply.header("retry-after", String(excess.retryAfterSeconds));
  if (route?.answerExcess !== undefined) return route.answerExcess(excess, reply);
  const { scope, retryAfterSeconds } = excess;
  return sendRefusal(reply, 429, refusalBody(rateLimited(scope, retryAfterSeconds)));
}

/** Checks the limits of header fields, which Node's parser bounds only together with the request line. */
function headerExcess(
  raw: readonly string[],
  { headerCount, headerBytes }: LimitsConfig,
): string | undefined {
  const count = raw.length / 2;
  if (count > headerCount) return `more than ${headerCount} header fields`;
  // Each field adds a colon, a space and the end of the line.
  const octets = raw.reduce((sum, text) => sum + text.length, count * 4);
  return octets > headerBytes ? `more than ${headerBytes} octets of header fields` : undefined;
}

/** Answers an error; the cause of an internal fault is logged only. */
function answerError(
  error: FastifyError,
  reply: FastifyReply,
  reportFault: GatewayParts["reportFault"],
): FastifyReply {
  const status = error.statusCode ?? 500;
  if (status >= 400 && status < 500) {
    const code = status === 413 ? "body-too-large" : "invalid-body";
    return sendRefusal(reply, status, errorBody(code, error.message.toLowerCase()));
  }
  const errorId = uuidv7();
  reportFault(errorId, error);
  return sendRefusal(reply, 500, refusalBody(serverError(errorId)));
}

const PREFIX = /^(?:\/[A-Za-z0-9._~-]+)+$/;

/**
 * Returns the predicate for claimed paths: a route's prefix and everything below it, and `reserved`, the sidecar's
 * own. Throws if a prefix is malformed or overlaps, which is a fault of its module.
 */
function claimsOf(routes: readonly HttpRoute[], reserved: string): (target: string) => boolean {
  const prefixes: string[] = [];
  for (const { prefix, api } of routes) {
    const fault = PREFIX.test(prefix) ? undefined : "is no path prefix";
    const taken = [...prefixes, reserved].find(
      (one) => isUnder(one, prefix) || isUnder(prefix, one),
    );
    const reason = fault ?? (taken === undefined ? undefined : `overlaps with "${taken}"`);
    if (reason !== undefined) throw new Error(`"${prefix}" of the HTTP API ${api.name} ${reason}`);
    prefixes.push(prefix);
  }
  return (target) => {
    const { path } = splitTarget(target);
    return path === reserved || prefixes.some((prefix) => isUnder(prefix, path));
  };
}

const TYPE = "application/json; charset=utf-8";
const DOCUMENT_METHODS = "GET, HEAD, OPTIONS";

/**
 * `GET /openapi.json`: the operator's endpoints for HTTP clients of this sidecar. Built at the first request, because
 * a port chosen by the system is not known earlier.   AGTP-API §14.2
 */
function createOpenapiRoutes(source: () => ExportSource, toll: Toll): HttpPlugin {
  let made: { readonly bytes: Buffer; readonly tag: string } | undefined;
  const make = () => {
    const bytes = Buffer.from(JSON.stringify(exportOpenapi(source())));
    return { bytes, tag: entityTag(bytes, TYPE) };
  };
  return (app) => {
    app.route({
      method: ["GET", "HEAD"],
      url: OPENAPI_PATH,
      handler: (request, reply) => {
        made ??= toll.measure(networkOwner(request.socket.remoteAddress ?? ""), make);
        reply.header("etag", made.tag).header("cache-control", "no-cache");
        if (isNoneMatch(request.headers["if-none-match"], made.tag)) return reply.code(304).send();
        return reply.header("content-type", TYPE).send(made.bytes);
      },
    });
    app.options(OPENAPI_PATH, (_request, reply) =>
      reply.header("allow", DOCUMENT_METHODS).code(204).send(),
    );
  };
}
