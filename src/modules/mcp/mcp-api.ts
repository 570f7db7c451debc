/**
 * MCP on the HTTP listener. The caller is identified before the message is read; a streamed answer begins with its
 * first event, so that a refusal can still be an HTTP status.
 * 400 no JSON · 401 and 403 with WWW-Authenticate · 403 a page of another origin · 405 · 415.   MCP "Streamable HTTP"
 */
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { restoreLost, restoreOctets } from "../../base/exact-numbers.ts";
import { type JsonBounds, jsonExcess, REQUEST_BOUNDS } from "../../base/json-bounds.ts";
import { recordIn, valueAt } from "../../base/json-value.ts";
import { inLongTurn } from "../../base/loop-turns.ts";
import { isTooDeep } from "../../base/nesting.ts";
import type { TaskOwner } from "../../base/task-queue.ts";
import { decodeExactUtf8 } from "../../base/utf8.ts";
import type { Toll } from "../../dispatch/rates/toll.ts";
import { findLost } from "../../endpoint/input.ts";
import type { McpEndpoint } from "./endpoint.ts";
import type { Challenge, McpFront, McpRequest } from "./front.ts";
import { challengeField, identify } from "./identify.ts";
import type { PlainAnswer } from "./plain-answer.ts";
import { isMessageId } from "./plain-request.ts";
import { REFUSED } from "./report-fault.ts";
import { createWebRequest } from "./web-request.ts";

/** The depth is bounded, since parsed JSON is walked recursively. */
const BOUNDS: JsonBounds = { ...REQUEST_BOUNDS, depth: 128 };
const METHODS = ["GET", "POST", "DELETE"];

export interface McpApiParts {
  readonly endpoint: McpEndpoint;
  readonly toll: Toll;
  frontOf(): McpFront;
  /** Returns the account that pays for a message. */
  payerOf(request: FastifyRequest): TaskOwner;
}

/** Creates the API as a plugin for its path. */
export function createMcpApi(parts: McpApiParts): (app: FastifyInstance) => void {
  const { frontOf } = parts;
  return (app) => {
    app.removeAllContentTypeParsers();
    // The library checks the content type.
    app.addContentTypeParser<Buffer>("*", { parseAs: "buffer" }, (_request, body, done) =>
      inLongTurn(body.length, () => done(null, body)),
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
      handler: (request, reply) => answer(parts, request, reply),
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
  { frontOf, endpoint, toll, payerOf }: McpApiParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const front = frontOf();
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
  // Measured as one slice of the event loop, the pipeline included.
  return toll.measure(payerOf(request), () =>
    answerMessage(endpoint, request, reply, { front, caller }),
  );
}

async function answerMessage(
  endpoint: McpEndpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  { front, caller }: Pick<McpRequest, "front" | "caller">,
): Promise<FastifyReply> {
  const body = readBody(request);
  if (body instanceof Error) return sendError(reply, 400, PARSE_ERROR, body.message);
  const asked: McpRequest = { front, caller, lost: lostIn(request, body), challenge: undefined };
  const plain = await answerPlain(endpoint, request, reply, { asked, body });
  if (asked.challenge !== undefined) return sendChallenge(reply, asked.challenge, asked.front);
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

/** True for a page of another origin: the gateway lets any page read, but MCP lets none open a stream. */
function isForeignPage({ headers }: FastifyRequest, reply: FastifyReply): boolean {
  return headers.origin !== undefined && !reply.hasHeader("access-control-allow-origin");
}

/** Parses the message; undefined if there is none, or if the library must report its fault. */
function readBody({ body, headers }: FastifyRequest): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return undefined;
  const type = headers["content-type"] ?? "";
  // The library also accepts other types that contain JSON.
  const excess = /json/i.test(type) ? jsonExcess(body, BOUNDS) : undefined;
  if (excess !== undefined) return new Error(`the message ${excess}`);
  if (!JSON_TYPE.test(type)) return undefined;
  const text = decodeExactUtf8(body);
  if (text === undefined) return new Error("Parse error: the request body is not UTF-8");
  try {
    const value: unknown = JSON.parse(text);
    return isTooDeep(value, BOUNDS.depth) ? new Error("the message is nested too deeply") : value;
  } catch {
    return new Error("Parse error: the request body is not valid JSON");
  }
}

/** Finds arguments that the library would lose: large numbers, and a `__proto__` member. */
function lostIn({ body }: FastifyRequest, message: unknown): McpRequest["lost"] {
  if (!Buffer.isBuffer(body) || message === undefined) return undefined;
  const input = recordIn(valueAt(message, ["params", "arguments"]));
  return Object.hasOwn(input, "__proto__") ? PROTO_MEMBER : findLost(body, input);
}

const PROTO_MEMBER: McpRequest["lost"] = [
  {
    ...{ path: "/__proto__", keyword: "additionalProperties" },
    message: "cannot be the name of an argument",
  },
];

const JSON_TYPE = /^\s*application\/json\s*(?:;|$)/i;

/**
 * Converts between the listener's HTTP and the library's web requests, responses and streams. Aborts the signal once
 * the client leaves before it was answered.   MCP "Streamable HTTP"
 */
function leavingOf(reply: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  reply.raw.once("close", () => {
    // An abort without a use is still expensive: it makes an error for each listener.
    const isStream = String(reply.getHeader("content-type")).startsWith("text/event-stream");
    if (isStream || !reply.raw.writableFinished) leaving.abort();
  });
  return leaving.signal;
}

/** Converts a request for the library. */
function toWebRequest(
  { method, headers, body }: FastifyRequest,
  isBodyNeeded: boolean,
  signal: AbortSignal,
): Request {
  const fields = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    // The token is not passed on.
    if (value === undefined || name === "authorization" || name.startsWith(":")) continue;
    fields.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  const hasBody = isBodyNeeded && method === "POST" && Buffer.isBuffer(body);
  return createWebRequest(ANY_URL, signal, {
    method,
    headers: fields,
    ...(hasBody ? { body: body.toString() } : {}),
  });
}

/** Placeholder: the library decides nothing by the URL. */
const ANY_URL = "http://localhost/";

/** Sends the library's response; a challenge replaces a stream that has not begun. */
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
  return reply.send(stream === undefined ? restoreLost(await response.text()) : streamOf(stream));
}

/** A stream whose first octets have arrived, so that any challenge is known. */
interface Begun {
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly first: Chunk;
  cancel(): Promise<void>;
}

type Chunk = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]>>;

/**
 * Waits for the first octets; a stream of notifications starts with a comment at once, since the first may take long.
 */
async function begun({ body }: Response, isNews: boolean): Promise<Begun | undefined> {
  const reader = body?.getReader();
  if (reader === undefined) return undefined;
  const first: Chunk = isNews ? { done: false, value: COMMENT } : await reader.read();
  return { reader, first, cancel: () => reader.cancel() };
}

/** A comment.   HTML "Server-sent events" */
const COMMENT = Buffer.from(": news\n\n");

function streamOf(stream: Begun): Readable {
  return Readable.from(chunksOf(stream), { objectMode: false });
}

async function* chunksOf({ reader, first, cancel }: Begun): AsyncGenerator<Uint8Array> {
  try {
    // The library writes each message in one piece.
    for (let next = first; !next.done; next = await reader.read()) yield restoreOctets(next.value);
  } finally {
    await cancel();
  }
}

/** Sends a challenge for a token, or for another one. */
function sendChallenge(
  reply: FastifyReply,
  challenge: Challenge,
  { protection }: McpFront,
): FastifyReply {
  reply.header("www-authenticate", challengeField(challenge, protection));
  return sendError(reply, challenge.status, REFUSED, challenge.message);
}

/** Answers 500 with the id of the fault. */
function sendFault(
  reply: FastifyReply,
  error: Error,
  { reportFault }: McpFront,
  body: unknown,
): FastifyReply {
  const id = recordIn(body)["id"];
  const { code, message, data } = reportFault(error, id ?? null);
  const told = { jsonrpc: "2.0", error: { code, message, data }, id: isMessageId(id) ? id : null };
  return reply.code(500).header("content-type", "application/json").send(JSON.stringify(told));
}

/** Sends an error for a message that was not understood. */
function sendError(
  reply: FastifyReply,
  status: number,
  code: number,
  message: string,
): FastifyReply {
  return reply
    .code(status)
    .header("content-type", "application/json")
    .send(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null }));
}
