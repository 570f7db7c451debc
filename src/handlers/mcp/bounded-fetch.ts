/**
 * The way to an MCP server over HTTP: verified connections to that server alone, no redirects, and
 * messages that are read up to a length. A stream of events may last; each event is a message.
 */
import { Agent, fetch as undiciFetch } from "undici";
import { connectionOptions } from "../connection-options.ts";
import type { McpHttpPlace } from "./read-settings.ts";

const MAX_CONNECTIONS = 64;
const CONNECT_TIMEOUT_MS = 10_000;
/** An answer may be preceded by this many messages of the full length: its progress. */
const MESSAGES_IN_ANSWER = 16;

/** The function that the SDK fetches with. */
export interface BoundedFetch {
  readonly fetch: typeof globalThis.fetch;
  /** Closes every connection at once. */
  close(): Promise<void>;
}

/** A message is longer than was agreed. */
export class MessageTooLong extends Error {
  constructor(limit: number) {
    super(`the upstream's message is longer than ${limit} bytes`);
  }
}

/** Connects to nothing by itself. */
export function createBoundedFetch({ ca }: McpHttpPlace, maxResponseBytes: number): BoundedFetch {
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
    const most = isStream
      ? isAnswer
        ? maxResponseBytes * MESSAGES_IN_ANSWER
        : Infinity
      : Infinity;
    const bounds = { message: maxResponseBytes, all: most, isStream };
    const body = response.body.pipeThrough(bounding(bounds));
    return new Response(body, { status, statusText, headers });
  };
  return { fetch, close: () => agent.destroy() };
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
