/**
 * The HTTP API as fastify plugins: discovery for everybody, and under /v1 operations that need a bearer key. The key is
 * checked before the path, and both before any body is read.   OpenWOP "rest-endpoints", "auth", "error-envelope"
 */

import { hash } from "node:crypto";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { encodingJson } from "../../../base/json-pieces.ts";
import { type JsonRecord, recordIn } from "../../../base/json-value.ts";
import { inLongTurn } from "../../../base/loop-turns.ts";
import { inSlices } from "../../../base/paced.ts";
import { traceOf } from "../../../base/thrown.ts";
import type { HttpRoute } from "../../../dispatch/module/http-route.ts";
import { networkOwner } from "../../../dispatch/rates/rates.ts";
import { lookTwice } from "../../../dispatch/routes/second-look.ts";
import { findLost, parseBody } from "../../../endpoint/input.ts";
import { canonicalTextOf } from "../../../identity/canonical-form.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { isStoreUnavailable } from "../../../state/store-fault.ts";
import {
  type ApiAnswer,
  answer,
  concealed,
  notFound,
  otherMethods,
  refuse,
  tooMuch,
} from "./answer.ts";
import { payerOfKey } from "./api-keys.ts";
import type { AnsweredRoute, ApiCall, ApiParts, Authorized } from "./api-route.ts";
import { authorize } from "./authorize.ts";
import { openStream } from "./event-routes.ts";
import { sendEvents } from "./event-stream.ts";
import { API_ROUTES, openApiDocument } from "./routes.ts";

/** A path prefix that the API owns. */
type ApiMount = Omit<HttpRoute, "api">;

const READ = ["GET", "HEAD"];
const METHODS = [...READ, "POST", "PUT", "PATCH", "DELETE"];

/** Returns the API of one deployment; `bodyBytes` is both advertised and enforced. */
export function openwopApi(parts: ApiParts, bodyBytes: number): readonly ApiMount[] {
  const tolled: Pick<ApiMount, "payerOf" | "answerExcess"> = {
    payerOf: ({ headers }) => {
      const key = parts.keys.find(headers.authorization);
      return key && payerOfKey(key);
    },
    answerExcess: (excess, reply) => send(reply, tooMuch(excess)),
  };
  return [
    {
      ...tolled,
      prefix: "/.well-known/openwop",
      plugin: (app) => {
        app.setNotFoundHandler((_, reply) => send(reply, notFound()));
        app.route({
          ...{ method: METHODS, url: "/" },
          onRequest: async ({ method }, reply) => {
            if (!READ.includes(method)) await send(reply, otherMethods(READ));
          },
          handler: (request, reply) =>
            parts.toll.measure(networkOwner(request.socket.remoteAddress ?? ""), () =>
              sendDiscovery(request, reply, parts, bodyBytes),
            ),
        });
      },
    },
    {
      ...tolled,
      prefix: "/v1",
      plugin: (app) => mountApi(app, parts, bodyBytes),
      answerUndecodable: (request, reply) => {
        const authorized = authorize(request.method, request.raw.url ?? "", request.headers, parts);
        send(reply, "status" in authorized ? authorized : notFound());
      },
    },
  ];
}

function mountApi(app: FastifyInstance, parts: ApiParts, bodyBytes: number): void {
  const authorizations = new WeakMap<FastifyRequest, Authorized>();
  const openApi = openApiDocument(
    API_ROUTES.filter(({ isConformance }) => isConformance !== true || parts.settings.conformance),
  );
  readBodies(app, bodyBytes, (request, work) => {
    const key = authorizations.get(request)?.key;
    return key === undefined ? work() : parts.toll.measure(payerOfKey(key), work);
  });
  app.setErrorHandler((error: FastifyError, _, reply) => sendError(reply, error, parts));
  app.setNotFoundHandler((_, reply) => send(reply, notFound()));
  app.route({
    ...{ method: READ, url: "/openapi.json" },
    handler: (_, reply) => send(reply, answer(openApi)),
  });
  app.route({
    method: METHODS,
    url: "/*",
    bodyLimit: bodyBytes,
    onRequest: async (request, reply) => {
      const authorized = authorize(request.method, request.raw.url ?? "", request.headers, parts);
      if ("status" in authorized) await send(reply, authorized);
      else authorizations.set(request, authorized);
    },
    handler: async (request, reply) => {
      const authorized = authorizations.get(request);
      if (authorized === undefined) throw new Error("the request was not authorized");
      const call = callOf(request, reply, authorized);
      await parts.toll.measure(payerOfKey(authorized.key), () => serve(request, reply, call));
    },
  });
}

/** Accepts only JSON bodies, within the depth that recursive readers can bear. */
function readBodies(
  scope: FastifyInstance,
  bodyLimit: number,
  measure: <T>(request: FastifyRequest, work: () => T) => T,
): void {
  scope.removeAllContentTypeParsers();
  const json = { parseAs: "buffer", bodyLimit } as const;
  scope.addContentTypeParser<Buffer>("application/json", json, (request, bytes, done) =>
    inLongTurn(bytes.length, () => {
      const read = measure(request, () => readBody(bytes));
      if (typeof read !== "string") done(null, read);
      else done(Object.assign(new Error(read), { statusCode: 400 }));
    }),
  );
}

/** Returns a text if the body is invalid. */
function readBody(bytes: Buffer): JsonRecord | string {
  const parsed = parseBody(bytes);
  if (parsed.kind === "invalid") return parsed.message;
  const [lost] = findLost(bytes, parsed.value) ?? [];
  return lost === undefined ? parsed.value : `${lost.path}: ${lost.message}`;
}

function callOf(request: FastifyRequest, reply: FastifyReply, authorized: Authorized): ApiCall {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  const { headers, query, body } = request;
  return {
    ...authorized,
    query: recordIn(query),
    body: recordIn(body),
    header: (name) => {
      const value = headers[name];
      return Array.isArray(value) ? value[0] : value;
    },
    signal: gone.signal,
    keep: () => [],
  };
}

async function serve(request: FastifyRequest, reply: FastifyReply, call: ApiCall): Promise<void> {
  const { route } = call;
  if (route.streams === undefined) {
    const said = await answerOnce(route, call);
    const { toll } = call.parts;
    const body = await inSlices(encodingJson(said.body), (slice) =>
      toll.measure(payerOfKey(call.key), slice),
    );
    await sendEncoded(reply, said, body);
    return;
  }
  const open = () => openStream(call, request.method === "HEAD");
  const opened = await lookTwice(open, Object.values(call.params), call.parts.view);
  if ("status" in opened) {
    await send(reply, concealed(opened, call.parts.redact));
    return;
  }
  reply.hijack();
  const { raw: response } = reply;
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) response.setHeader(name, value);
  }
  response.writeHead(200, {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    // Some proxies would buffer the stream.
    "X-Accel-Buffering": "no",
  });
  try {
    await sendEvents({ ...opened, response, signal: call.signal });
  } catch (error) {
    const { log, redact } = call.parts;
    log.warn({ trace: redact(traceOf(error)) }, "a stream of events was broken off");
  } finally {
    opened.leave();
  }
}

function sendDiscovery(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { discovery }: ApiParts,
  maxRequestBodyBytes: number,
): FastifyReply {
  const limits = { ...recordIn(discovery["limits"]), maxRequestBodyBytes };
  const body = { ...discovery, limits };
  const etag = `"${hash("sha256", JSON.stringify(body)).slice(0, 32)}"`;
  reply.headers({ "Cache-Control": "public, max-age=60", ETag: etag, "Capabilities-Etag": etag });
  const known = String(headers["if-none-match"] ?? "").split(",");
  const isKnown = known.some((tag) => [etag, `W/${etag}`, "*"].includes(tag.trim()));
  return isKnown ? reply.code(304).send() : send(reply, answer(body));
}

function send(reply: FastifyReply, said: ApiAnswer): FastifyReply {
  return sendEncoded(reply, said, JSON.stringify(said.body));
}

function sendEncoded(
  reply: FastifyReply,
  { status, headers = {} }: ApiAnswer,
  body: string | Buffer,
): FastifyReply {
  if (!reply.hasHeader("cache-control")) reply.header("Cache-Control", "no-store");
  return reply.code(status).headers(headers).type("application/json; charset=utf-8").send(body);
}

/** Answers fastify's refusals, and faults with an id that the log also has. */
function sendError(
  reply: FastifyReply,
  error: FastifyError,
  { log, redact }: ApiParts,
): FastifyReply {
  const { statusCode = 500, message } = error;
  if (statusCode === 413) {
    return send(reply, refuse(413, "payload_too_large", "the body is too large"));
  }
  if (statusCode === 415) {
    return send(reply, refuse(415, "unsupported_media_type", "the body must be application/json"));
  }
  if (statusCode < 500) {
    return send(reply, concealed(refuse(statusCode, "validation_error", message), redact));
  }
  if (isStoreUnavailable(error)) {
    // The store reports its own fault, once.
    const message = "the server cannot keep or read what this needs";
    return send(reply.header("Retry-After", "1"), refuse(503, "store_unavailable", message));
  }
  const correlationId = uuidv7();
  // The trace may quote the request.
  const fields = { error_id: correlationId, trace: redact(traceOf(error)) };
  log.warn(fields, "a request could not be answered");
  const fault = refuse(500, "internal_error", "the server failed to answer", { correlationId });
  return send(reply, fault);
}

const KEY = /^[\x20-\x7e]{1,255}$/;

async function answerOnce(route: AnsweredRoute, call: ApiCall): Promise<ApiAnswer> {
  const { parts, params, body } = call;
  // Redacts first, so that the stored answer equals the one sent.
  const handle = async (asked: ApiCall): Promise<ApiAnswer> => {
    const ask = () => route.handle(asked);
    return concealed(await lookTwice(ask, Object.values(params), parts.view), parts.redact);
  };
  const key = call.header("idempotency-key");
  // GET changes nothing, so the key is ignored.
  if (key === undefined || route.method === "GET") return handle(call);
  if (!KEY.test(key)) {
    const message = "the Idempotency-Key must be 1 to 255 printable ASCII characters";
    return refuse(400, "validation_error", message);
  }
  const asked = canonicalTextOf({ params, body });
  if (asked === undefined) {
    return refuse(400, "validation_error", "the body has no canonical form");
  }
  const { tenant } = call.key;
  const operation = `${route.method} ${route.path}`;
  const request = { tenant, operation, key, digest: hash("sha256", asked) };
  return parts.state.idempotency.run(request, (keep) => handle({ ...call, keep }), parts.view);
}
