/**
 * The HTTP sidecar of one deployment: every face on one Fastify instance, which never listens itself.
 * What no face has claimed goes to the AGTP endpoints, with its path as the client wrote it. What is
 * in no face's hands is answered here: 400 more than one Host · 403 another origin · 404 a claimed path
 * that nobody serves · 421 another server's name · 429 too much for one account, unless its face says so ·
 * 431 too many fields · 500 a fault, with an id that the log has too.   AGTP "HTTP Gateway"
 */
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from "fastify";
import type { Config, LimitsConfig } from "../../base/config.ts";
import { networkOwner } from "../../dispatch/payer.ts";
import type { RateExcess } from "../../dispatch/rates.ts";
import { rateLimited, refusalBody, serverError } from "../../dispatch/refusal.ts";
import type { Toll } from "../../dispatch/toll.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import type { ExportSource } from "../../openapi/export-openapi.ts";
import type { WireFault } from "../../wire/message.ts";
import { AGTP_ROUTE, createAgtpFace } from "./agtp-face.ts";
import { claimsOf } from "./claims.ts";
import type { GatewayFace, GatewayMount } from "./face.ts";
import { createHostPolicy, type HostVerdict } from "./hosts.ts";
import { type HttpAnswer, writeAnswer } from "./http-answer.ts";
import { METHODS } from "./http-methods.ts";
import { faultStatus } from "./http-status.ts";
import { readAuthority } from "./http-target.ts";
import { createOpenapiFace } from "./openapi-face.ts";
import { OPENAPI_PATH } from "./openapi-path.ts";
import { createOriginPolicy } from "./origins.ts";
import { createPipeline, type HttpPeer, type PipelineParts } from "./pipeline.ts";
import { errorBody, sendRefusal } from "./send-answer.ts";

/** What a sidecar is made from. */
export interface GatewayParts extends PipelineParts {
  readonly config: Pick<Config, "server" | "gateway" | "limits">;
  readonly faces: readonly GatewayFace[];
  /** For what does not come to the pipeline. */
  readonly toll: Toll;
  /** What `/openapi.json` is made from, once the port is known. */
  openapiSource(): ExportSource;
  reportFault(errorId: string, error: unknown): void;
}

type RawRequest = Parameters<FastifyInstance["routing"]>[0];
type RawReply = Parameters<FastifyInstance["routing"]>[1];

/** The sidecar while its deployment is served. */
export interface Gateway {
  handle(request: RawRequest, reply: RawReply): void;
  /** The answer to bytes that are no HTTP request; undefined: there is none. */
  answerFault(fault: WireFault, peer: HttpPeer): Promise<HttpAnswer | undefined>;
  /** Ends what the faces hold open; running requests are still answered. */
  close(): Promise<void>;
}

/** Segments of a face's paths may be longer than Fastify's hundred characters. */
const MAX_PARAMETER_LENGTH = 1024;

/** Builds the sidecar. Throws when a face cannot be registered. */
export async function createGateway(parts: GatewayParts): Promise<Gateway> {
  const { config, faces, verbs, agent } = parts;
  const { serverId } = config.server;
  const { limits } = config;
  const isClaimed = claimsOf(faces, OPENAPI_PATH);
  const mounts = faces.flatMap((face) => face.mounts);
  const pipeline = createPipeline(parts);
  const app = fastify({
    logger: false,
    bodyLimit: limits.bodyBytes,
    exposeHeadRoutes: false,
    requestIdHeader: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    // The path of an AGTP endpoint is for the path grammar to read, not for a router.
    rewriteUrl: ({ url = "" }) => {
      const { relative } = readAuthority(url);
      return isClaimed(relative) ? relative : AGTP_ROUTE;
    },
    frameworkErrors: (_error, request, reply) => {
      const mount = mountOf(mounts, request.raw.url ?? "");
      if (takeToll(request, reply, parts.toll, mount) !== undefined) return;
      if (mount?.answerUndecodable !== undefined) mount.answerUndecodable(request, reply);
      else sendRefusal(reply, 400, errorBody("invalid-request-line", "the path cannot be decoded"));
    },
  });
  addHooks(app, parts, mounts);
  app.setErrorHandler((error: FastifyError, _request, reply) =>
    answerError(error, reply, parts.reportFault),
  );
  app.setNotFoundHandler((request, reply) => {
    if (request.url !== AGTP_ROUTE) return sendRefusal(reply, 404, NOT_FOUND);
    // A method that the pipeline is never asked, such as TRACE.
    const message = `method "${request.method}" is not served`;
    reply.header("allow", METHODS.join(", "));
    return sendRefusal(reply, 405, errorBody("method-not-allowed", message));
  });
  app.register(async (scope) =>
    createAgtpFace({ serverId, agent, limits, verbs, pipeline })(scope),
  );
  app.register(async (scope) => createOpenapiFace(parts.openapiSource, parts.toll)(scope));
  for (const { prefix, plugin } of mounts) {
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

const HOST_REFUSALS = {
  ours: undefined,
  another: {
    status: 421,
    body: errorBody("host-not-allowed", "this server is not called by that name"),
  },
  unclear: { status: 400, body: errorBody("invalid-framing", "more than one Host field") },
} as const satisfies Record<HostVerdict, unknown>;

/** What holds for every face. */
function addHooks(
  app: FastifyInstance,
  { config, toll }: GatewayParts,
  mounts: readonly GatewayMount[],
): void {
  const { server, gateway, limits } = config;
  const judgeHost = createHostPolicy(gateway);
  const judge = createOriginPolicy(gateway.corsOrigins);
  app.addHook("onRequest", async (request, reply) => {
    const { method, headers, raw, originalUrl } = request;
    reply.header("server-id", server.serverId).header("x-content-type-options", "nosniff");
    const excess = headerExcess(raw.rawHeaders, limits);
    if (excess !== undefined) {
      return sendRefusal(reply, 431, errorBody("header-too-large", excess));
    }
    const refused = HOST_REFUSALS[judgeHost({ target: originalUrl, rawHeaders: raw.rawHeaders })];
    if (refused !== undefined) return sendRefusal(reply, refused.status, refused.body);
    const asksFor = headers["access-control-request-method"];
    const verdict = judge({ method, origin: headers.origin, asksFor });
    if (verdict.kind === "refused") {
      const message = "pages of this origin may not call this server";
      return sendRefusal(reply, 403, errorBody("origin-not-allowed", message));
    }
    for (const [name, value] of verdict.fields) reply.header(name, value);
    if (verdict.kind === "preflight") return reply.code(204).send();
    // The pipeline knows better whom its requests come from.
    const isPipelines = request.url === AGTP_ROUTE && method !== "OPTIONS";
    return isPipelines ? undefined : takeToll(request, reply, toll, mountOf(mounts, request.url));
  });
  app.addHook("onSend", async (request, reply) => {
    // Closing on a client that is still sending would take the answer from it: what is left of the
    // body is read and forgotten, as long as a body may take.   RFC 9112 §9.6
    if (!request.raw.complete) reply.removeHeader("connection");
    // A client that does not read its answer is not waited for.
    reply.raw.setTimeout(limits.idleTimeoutMs);
  });
}

function mountOf(mounts: readonly GatewayMount[], url: string): GatewayMount | undefined {
  const [path = ""] = url.split("?");
  return mounts.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));
}

/** Undefined: it may come in. */
function takeToll(
  request: FastifyRequest,
  reply: FastifyReply,
  toll: Toll,
  mount: GatewayMount | undefined,
): FastifyReply | undefined {
  const payer = mount?.payerOf?.(request) ?? networkOwner(request.socket.remoteAddress ?? "");
  const excess = toll.admit(payer);
  return excess && sendExcess(excess, reply, mount);
}

function sendExcess(
  excess: RateExcess,
  reply: FastifyReply,
  mount: GatewayMount | undefined,
): FastifyReply {
  reply.header("retry-after", String(excess.retryAfterSeconds));
  if (mount?.answerExcess !== undefined) return mount.answerExcess(excess, reply);
  const { scope, retryAfterSeconds } = excess;
  return sendRefusal(reply, 429, refusalBody(rateLimited(scope, retryAfterSeconds)));
}

/** What is too much about header fields; the parser bounds them together with the request line only. */
function headerExcess(
  raw: readonly string[],
  { headerCount, headerBytes }: LimitsConfig,
): string | undefined {
  const count = raw.length / 2;
  if (count > headerCount) return `more than ${headerCount} header fields`;
  // A colon, a space and the end of the line for each.
  const octets = raw.reduce((sum, text) => sum + text.length, count * 4);
  return octets > headerBytes ? `more than ${headerBytes} octets of header fields` : undefined;
}

/** Faults keep their cause to themselves. */
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
