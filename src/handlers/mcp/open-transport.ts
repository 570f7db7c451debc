/** Opens the way to an MCP server: Streamable HTTP, or a child process that speaks on its pipes. */
import { isJSONRPCRequest, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Agent, fetch as undiciFetch } from "undici";
import { connectionOptions } from "../connection-options.ts";
import type { McpCommandPlace, McpHttpPlace, McpServerSettings } from "./read-settings.ts";

/** A way that can be connected over once. */
export interface OpenedTransport {
  readonly transport: StreamableHTTPClientTransport | StdioClientTransport;
  /** The end of what the child wrote to its standard error, for operators. */
  lastWords(): string;
  /** Ends what the transport leaves open. */
  close(): Promise<void>;
}

const LAST_WORDS = 2_048;

/** Starts nothing before it is connected over. */
export function openTransport({ place, maxResponseBytes }: McpServerSettings): OpenedTransport {
  return place.kind === "http"
    ? overHttp(place, maxResponseBytes)
    : overPipes(place, maxResponseBytes);
}

function overHttp(place: McpHttpPlace, maxResponseBytes: number): OpenedTransport {
  const { fetch, close } = createBoundedFetch(place, maxResponseBytes);
  const { token } = place;
  const transport = new StreamableHTTPClientTransport(new URL(place.url), {
    fetch,
    ...(token === undefined ? {} : { authProvider: { token: async () => token } }),
    onInsufficientScope: "throw",
  });
  answerWhole(transport);
  return { transport, lastWords: () => "", close };
}

function overPipes(
  { command, args, env, cwd }: McpCommandPlace,
  maxResponseBytes: number,
): OpenedTransport {
  const transport = new StdioClientTransport({
    ...{ command, args: [...args], env: { ...env }, cwd, stderr: "pipe" },
    maxBufferSize: maxResponseBytes,
  });
  let words = "";
  // Output that nobody reads would fill the pipe, and the child would stand still.
  transport.stderr?.on("data", (chunk: Buffer) => {
    words = (words + chunk.toString("utf8")).slice(-LAST_WORDS);
  });
  return { transport, lastWords: () => words, close: () => Promise.resolve() };
}

const MAX_CONNECTIONS = 64;
const CONNECT_TIMEOUT_MS = 10_000;
/** An answer may be preceded by this many messages of the full length: its progress. */
const MESSAGES_IN_ANSWER = 16;

/** A message is longer than was agreed. */
export class MessageTooLong extends Error {
  constructor(limit: number) {
    super(`the upstream's message is longer than ${limit} bytes`);
  }
}

/**
 * The way to an MCP server over HTTP: verified connections to that server alone, no redirects, and
 * messages that are read up to a length. A stream of events may last; each event is a message.
 */
function createBoundedFetch({ ca }: McpHttpPlace, maxResponseBytes: number) {
  const agent = new Agent(
    connectionOptions({
      ...{ connections: MAX_CONNECTIONS, connectTimeoutMs: CONNECT_TIMEOUT_MS },
      ca,
    }),
  );
  const fetchFrom = undiciFetch as unknown as typeof globalThis.fetch;
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const options = { ...init, redirect: "error", dispatcher: agent } as unknown as RequestInit;
    const response = await fetchFrom(input, options);
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
    const isAnswer = init?.method === "POST";
    const most = isStream && isAnswer ? maxResponseBytes * MESSAGES_IN_ANSWER : Infinity;
    const bounds = { message: maxResponseBytes, all: most, isStream };
    const body = response.body.pipeThrough(bounding(bounds));
    return new Response(body, { status, statusText, headers });
  };
  return { fetch, close: (): Promise<void> => agent.destroy() };
}

interface Bounds {
  readonly message: number;
  readonly all: number;
  /** True if a message ends with an empty line. */
  readonly isStream: boolean;
}

function bounding({ message, all, isStream }: Bounds): TransformStream<Uint8Array, Uint8Array> {
  let sinceMessage = 0;
  let total = 0;
  return new TransformStream({
    transform(chunk, controller) {
      total += chunk.length;
      const end = isStream ? lastMessageEnd(chunk) : -1;
      sinceMessage = end < 0 ? sinceMessage + chunk.length : chunk.length - end;
      if (sinceMessage > message || total > all) controller.error(new MessageTooLong(message));
      else controller.enqueue(chunk);
    },
  });
}

/** Where the last empty line of a piece ends; a line that two pieces share is found a piece later. */
function lastMessageEnd(chunk: Uint8Array): number {
  const octets = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return Math.max(octets.lastIndexOf("\n\n"), octets.lastIndexOf("\n\r\n"));
}

/** The message of an answer that never came. */
export const ENDED_EARLY = "the upstream ended its answer before it was whole";

/** A code that no server has a reason to use. */
const CODE = -32_099;

/**
 * A stream of an MCP server that ends before it has answered: the library would wait for the answer
 * for ever. It is given one here, by which the failure is told from a server's own errors.
 */
function answerWhole(transport: StreamableHTTPClientTransport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (!isJSONRPCRequest(message)) return send(message, options);
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      // A request that was answered is not waited for any more, and hears nothing of this.
      const error = { code: CODE, message: ENDED_EARLY };
      transport.onmessage?.({ jsonrpc: "2.0", id: message.id, error });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
}

/** Tells whether an error is such an answer. */
export function isEndedEarly(error: { readonly code: number; readonly message: string }): boolean {
  return error.code === CODE && error.message === ENDED_EARLY;
}
