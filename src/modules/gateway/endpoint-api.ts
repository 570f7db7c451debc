/**
 * The AGTP endpoints as an HTTP API, at every path that no other API claims. Every HTTP method is passed to the
 * pipeline, except OPTIONS, which is answered here from the same tables. 415 an encoded body · 404 and 405 for
 * requests that cannot be passed to the pipeline.   AGTP "HTTP Gateway"
 */
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { inLongTurn } from "../../base/loop-turns.ts";
import type { HttpPeer } from "../../dispatch/module/http-gateway.ts";
import type { HttpPlugin } from "../../dispatch/module/http-route.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { HeaderFields } from "../../wire/fields.ts";
import { joinRepeated, SINGLETON_FIELDS } from "../../wire/header-fields.ts";
import type { LimitsConfig } from "../../wire/limits-section.ts";
import type { Response, WireFault } from "../../wire/message.ts";
import { isWireFault } from "../../wire/message-parser.ts";
import {
  type Asked,
  errorBody,
  faultStatus,
  sendAnswer,
  sendRefusal,
  writeAnswer,
} from "./http-answer.ts";
import type { HttpEntrance, VerbRoutes } from "./http-entrance.ts";
import { FURTHER_METHODS, METHODS, readTarget } from "./http-target.ts";

interface EndpointApiParts {
  readonly serverId: string;
  readonly agent: AgentDocument;
  readonly limits: LimitsConfig;
  readonly verbs: VerbRoutes;
  readonly pipeline: HttpEntrance;
}

/** The route of this API, to which the URLs of its requests are rewritten. */
export const AGTP_ROUTE = "/";

const NO_BODY = new Uint8Array(0);

/** Creates the API as a plugin for the root of the path space. */
export function createEndpointApi(parts: EndpointApiParts): HttpPlugin {
  return (app) => {
    for (const method of FURTHER_METHODS) app.addHttpMethod(method, { hasBody: true });
    app.removeAllContentTypeParsers();
    // A gate judges the content type later, if the endpoint reads a body at all.
    app.addContentTypeParser<Buffer>("*", { parseAs: "buffer" }, (_request, body, done) =>
      inLongTurn(body.length, () => done(null, body)),
    );
    app.setErrorHandler((error: FastifyError, request, reply) =>
      answerError(error, request, reply),
    );
    app.route({
      method: [...METHODS, ...FURTHER_METHODS],
      url: AGTP_ROUTE,
      handler: (request, reply) => answer(request, reply),
    });
  };

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { limits, agent, pipeline, verbs } = parts;
    const { method, raw, headers, originalUrl } = request;
    const target = readTarget(originalUrl, limits.requestLineBytes);
    if (isWireFault(target)) return refuse(target, request, reply);
    if (method === "OPTIONS") return describe(originalUrl, target.path, reply);
    const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
    if (encoding !== "identity") {
      reply.header("accept-encoding", "identity");
      const message = "the body must not be encoded";
      return sendRefusal(reply, 415, errorBody("unsupported-content-encoding", message));
    }
    const passed = passFields(raw.rawHeaders, agent);
    if (isWireFault(passed)) return refuse(passed, request, reply);
    const { body } = request;
    const response = await pipeline.ask({
      ...{ method, target, headers: passed, peer: peerOf(request) },
      body: body instanceof Uint8Array ? body : NO_BODY,
      onLeave: (listener) => {
        reply.raw.once("close", () => {
          if (!reply.raw.writableFinished) listener();
        });
      },
    });
    const asked = askedBy(request, () => verbs.allowed(target.path));
    return send(response, asked, reply);
  }

  function send(
    response: Response | undefined,
    asked: Asked,
    reply: FastifyReply,
    status?: number,
  ): FastifyReply {
    return sendAnswer(reply, response && writeAnswer(response, asked, parts, status));
  }

  async function refuse(
    fault: WireFault,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const response = await parts.pipeline.refuse(fault, peerOf(request));
    return send(
      response,
      askedBy(request, () => []),
      reply,
      faultStatus(fault.code),
    );
  }

  function describe(target: string, path: string, reply: FastifyReply): FastifyReply {
    const allowed = target === "*" ? METHODS : parts.verbs.allowed(path);
    if (allowed.length > 0) return reply.code(204).header("allow", allowed.join(", ")).send();
    const message = "nothing is registered at this path";
    return sendRefusal(reply, 404, errorBody("endpoint-not-found", message));
  }

  /** Answers bodies that Fastify could not read; errors of 500 and above go on to the root's handler. */
  function answerError(
    error: FastifyError,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const status = error.statusCode ?? 500;
    if (status >= 500) throw error;
    const code = status === 413 ? "body-too-large" : "invalid-wire-format";
    const message =
      status === 413
        ? `the body exceeds the limit of ${parts.limits.bodyBytes} octets`
        : `the request cannot be read: ${error.message.toLowerCase()}`;
    return refuse({ kind: "wire-fault", code, message }, request, reply);
  }
}

function peerOf({ raw: { socket } }: FastifyRequest): HttpPeer {
  return { address: socket.remoteAddress ?? "", port: socket.remotePort ?? 0 };
}

function askedBy({ method, headers }: FastifyRequest, allowed: Asked["allowed"]): Asked {
  return { method, accept: headers.accept, ifNoneMatch: headers["if-none-match"], allowed };
}

/**
 * The HTTP header fields that are passed to the pipeline: the request's own, and the bearer token to be verified. The
 * sidecar itself sets the identity, so identity fields are never passed, and neither is the opt-in to negotiation.
 * AGTP "HTTP Gateway"
 */
const PASSED: ReadonlySet<string> = new Set([
  ...["accept", "authority-scope", "authorization", "content-type", "contract-synthesized"],
  ...["escalation-id", "idempotency-key", "request-id", "session-id", "task-id"],
]);

/** Returns the fields to pass, from Node's flat list of names and values. */
export function passFields(
  raw: readonly string[],
  { agentId, ownerId }: Pick<AgentDocument, "agentId" | "ownerId">,
): HeaderFields | WireFault {
  const fields: (readonly [name: string, value: string])[] = [["agent-id", agentId]];
  if (ownerId !== undefined) fields.push(["owner-id", ownerId]);
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? "").toLowerCase();
    if (PASSED.has(name)) fields.push([name, raw[at + 1] ?? ""]);
  }
  return joinRepeated(fields, SINGLETON_FIELDS);
}
