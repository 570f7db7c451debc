/**
 * MCP on the HTTP listener. Who asks is settled before the message is looked at; an answer that is
 * streamed begins with its first event, so that a refusal can still be HTTP's own.
 * 400 no JSON · 401 and 403 with WWW-Authenticate · 403 a page of another origin · 405 · 415.   MCP "Streamable HTTP"
 */
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isTooDeep } from "../../base/nesting.ts";
import type { McpEndpoint } from "./endpoint.ts";
import type { McpFront, McpRequest } from "./front.ts";
import { identify, sendChallenge, sendError, sendFault } from "./identify.ts";
import type { PlainAnswer } from "./plain-answer.ts";
import { REFUSED } from "./report-fault.ts";
import { createWebRequest } from "./web-request.ts";

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

/**
 * HTTP as the listener has it, and as the library does: requests on their way in, answers and the
 * streams of them on their way out. Aborts once the client has left before it was answered.   MCP
 * "Streamable HTTP"
 */
function leavingOf(reply: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  reply.raw.once("close", () => {
    // An abort that nobody waits for any more is still dear: it makes an error for each listener.
    const isStream = String(reply.getHeader("content-type")).startsWith("text/event-stream");
    if (isStream || !reply.raw.writableFinished) leaving.abort();
  });
  return leaving.signal;
}

/** The request as the library reads it. */
function toWebRequest(
  { method, headers, body }: FastifyRequest,
  isBodyNeeded: boolean,
  signal: AbortSignal,
): Request {
  const fields = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    // The token goes no further.
    if (value === undefined || name === "authorization" || name.startsWith(":")) continue;
    fields.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  const hasBody = isBodyNeeded && method === "POST" && typeof body === "string";
  return createWebRequest(ANY_URL, signal, {
    method,
    headers: fields,
    ...(hasBody ? { body } : {}),
  });
}

/** Nothing is decided by it. */
const ANY_URL = "http://localhost/";

/** Sends what the library answers; HTTP itself may have to say no before a stream begins. */
async function sendResponse(
  reply: FastifyReply,
  response: Response,
  asked: McpRequest,
): Promise<FastifyReply> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const stream = isStream ? await begun(response, reply.request.method === "GET") : undefined;
  if (asked.challenge !== undefined) {
    await stream?.cancel();
    return sendChallenge(reply, asked.challenge, asked.front);
  }
  reply.code(response.status);
  for (const [name, value] of response.headers) {
    if (name !== "connection") reply.header(name, value);
  }
  return reply.send(stream === undefined ? await response.text() : streamOf(stream));
}

/** A stream whose first octets are there: what HTTP itself has to say is known by then. */
interface Begun {
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly first: Chunk;
  cancel(): Promise<void>;
}

type Chunk = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]>>;

/** News may be long in coming: whoever waits for them is told at once that they will. */
async function begun({ body }: Response, isNews: boolean): Promise<Begun | undefined> {
  const reader = body?.getReader();
  if (reader === undefined) return undefined;
  const first: Chunk = isNews ? { done: false, value: COMMENT } : await reader.read();
  return { reader, first, cancel: () => reader.cancel() };
}

/** HTML "Server-sent events" */
const COMMENT = Buffer.from(": news\n\n");

function streamOf(stream: Begun): Readable {
  return Readable.from(chunksOf(stream), { objectMode: false });
}

async function* chunksOf({ reader, first, cancel }: Begun): AsyncGenerator<Uint8Array> {
  try {
    for (let next = first; !next.done; next = await reader.read()) yield next.value;
  } finally {
    await cancel();
  }
}
