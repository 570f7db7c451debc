/**
 * HTTP as the listener has it, and as the library does: requests on their way in, answers and the
 * streams of them on their way out.   MCP "Streamable HTTP"
 */
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { McpRequest } from "./front.ts";
import { sendChallenge } from "./http-errors.ts";

/** Aborts once the client has left before it was answered. */
export function leavingOf(reply: FastifyReply): AbortSignal {
  const leaving = new AbortController();
  reply.raw.once("close", () => {
    // An abort that nobody waits for any more is still dear: it makes an error for each listener.
    const isStream = String(reply.getHeader("content-type")).startsWith("text/event-stream");
    if (isStream || !reply.raw.writableFinished) leaving.abort();
  });
  return leaving.signal;
}

/** The request as the library reads it. */
export function toWebRequest(
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
  return new Request(ANY_URL, { method, headers: fields, signal, ...(hasBody ? { body } : {}) });
}

/** Nothing is decided by it. */
const ANY_URL = "http://localhost/";

/** Sends what the library answers; HTTP itself may have to say no before a stream begins. */
export async function sendResponse(
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
