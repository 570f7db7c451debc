/**
 * MCP on the HTTP listener. Who asks is settled before the message is looked at; an answer that is
 * streamed begins with its first event, so that a refusal can still be HTTP's own.
 * 400 no JSON · 401 and 403 with WWW-Authenticate · 403 a page of another origin · 405 · 415.   MCP "Streamable HTTP"
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isTooDeep } from "../../base/nesting.ts";
import type { McpEndpoint } from "./endpoint.ts";
import type { McpFront, McpRequest } from "./front.ts";
import { sendChallenge, sendError, sendFault } from "./http-errors.ts";
import { identify } from "./identify.ts";
import type { PlainAnswer } from "./plain-answer.ts";
import { REFUSED } from "./report-fault.ts";
import { leavingOf, sendResponse, toWebRequest } from "./web-messages.ts";

/** Parsed JSON is walked by what was written without fear for the stack. */
const MAX_DEPTH = 128;
const METHODS = ["GET", "POST", "DELETE"];

/** The API, as a plugin for its path. */
export function createMcpApi(
  frontOf: () => McpFront,
  endpoint: McpEndpoint,
): (app: FastifyInstance) => void {
  return (app) => {
    app.removeAllContentTypeParsers();
    // The library says what a body must be.
    app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) =>
      done(null, body),
    );
    app.setErrorHandler<Error & { readonly statusCode?: number }>((error, request, reply) => {
      const status = error.statusCode ?? 500;
      if (status >= 500) return sendFault(reply, error, frontOf(), readBody(request));
      return sendError(
        reply,
        status,
        status === 413 ? REQUEST_INVALID : PARSE_ERROR,
        error.message,
      );
    });
    app.route({
      method: [...METHODS],
      url: "/",
      handler: (request, reply) => answer(frontOf(), endpoint, request, reply),
    });
    app.setNotFoundHandler((_request, reply) => {
      reply.header("allow", METHODS.join(", "));
      return sendError(reply, 405, REFUSED, "Method not allowed.");
    });
  };
}

const PARSE_ERROR = -32_700;
const REQUEST_INVALID = -32_600;

async function answer(
  front: McpFront,
  endpoint: McpEndpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (isForeignPage(request, reply)) {
    return sendError(reply, 403, REFUSED, "Pages of this origin may not call this server.");
  }
  const { socket } = request.raw;
  const caller = await identify(front, {
    authorization: request.headers.authorization,
    address: socket.remoteAddress ?? "",
    port: socket.remotePort ?? 0,
  });
  if ("status" in caller) return sendChallenge(reply, caller, front);
  const body = readBody(request);
  if (body instanceof Error) return sendError(reply, 400, PARSE_ERROR, body.message);
  const asked: McpRequest = { front, caller, challenge: undefined };
  const plain = await answerPlain(endpoint, request, reply, { asked, body });
  if (asked.challenge !== undefined) return sendChallenge(reply, asked.challenge, front);
  if (plain !== undefined) {
    if (plain.sessionId !== undefined) reply.header("mcp-session-id", plain.sessionId);
    return reply.header("content-type", plain.type).send(plain.body);
  }
  const http = toWebRequest(request, body === undefined, leavingOf(reply));
  return sendResponse(reply, await endpoint.handle(http, asked, body), asked);
}

async function answerPlain(
  endpoint: McpEndpoint,
  { method, headers }: FastifyRequest,
  { raw }: FastifyReply,
  { asked, body }: { readonly asked: McpRequest; readonly body: unknown },
): Promise<PlainAnswer | undefined> {
  if (method !== "POST") return undefined;
  return endpoint.answerPlain(headers, asked, body, (listener) => {
    raw.once("close", () => {
      if (!raw.writableFinished) listener();
    });
  });
}

/** The gateway lets pages of any origin read; MCP lets none of them begin a stream. */
function isForeignPage({ headers }: FastifyRequest, reply: FastifyReply): boolean {
  return headers.origin !== undefined && !reply.hasHeader("access-control-allow-origin");
}

/** The message; undefined where there is none, or where it is for the library to say why. */
function readBody({ body, headers }: FastifyRequest): unknown {
  if (typeof body !== "string" || body === "") return undefined;
  if (!JSON_TYPE.test(headers["content-type"] ?? "")) return undefined;
  try {
    const value: unknown = JSON.parse(body);
    return isTooDeep(value, MAX_DEPTH) ? new Error("the message is nested too deeply") : value;
  } catch {
    return new Error("Parse error: the request body is not valid JSON");
  }
}

const JSON_TYPE = /^\s*application\/json\s*(?:;|$)/i;
