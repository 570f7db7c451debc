/**
 * An MCP server over HTTP that misbehaves as it is told. It speaks the older protocol, written out,
 * because no library would do this.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** How it answers a call. */
export type HttpPlay = (response: ServerResponse, id: unknown) => Promise<void> | void;

const TOOL = { name: "work", description: "Works.", inputSchema: { type: "object" } };

/** Its manners beside calls. */
interface HttpManners {
  /** Streams events that nobody asked for. */
  stream?(response: ServerResponse): void;
  /** Takes a reply to what it asked. */
  take?(response: ServerResponse): void;
  /** The session that it begins; a call in another is not found. */
  session?(): string;
  /** Hears that a session is over. */
  end?(response: ServerResponse, session: unknown): void;
}

/** A server for the running test. */
export async function serveHostile(play: HttpPlay, manners: HttpManners = {}): Promise<string> {
  const { stream, take, session, end } = manners;
  const server = createServer(async (request, response) => {
    response.on("error", () => undefined);
    if (request.method === "GET" && stream !== undefined) return stream(response);
    if (request.method === "DELETE" && end !== undefined) {
      return end(response, request.headers["mcp-session-id"]);
    }
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params } = (await json(request)) as Sent;
    if (method === undefined && take !== undefined) return take(response);
    const sessionId = session?.();
    if (method === "tools/call") {
      const isKnown = request.headers["mcp-session-id"] === sessionId;
      return isKnown ? play(response, id) : void response.writeHead(404).end();
    }
    if (id === undefined || method === undefined) return void response.writeHead(202).end();
    if (sessionId !== undefined) response.setHeader("mcp-session-id", sessionId);
    sendJson(response, { id, result: resultOf(method, params) });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

interface Sent {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly protocolVersion?: string };
}

function resultOf(method: string, params: Sent["params"]): object {
  if (method === "tools/list") return { tools: [TOOL] };
  return {
    protocolVersion: params?.protocolVersion ?? "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "hostile", version: "1" },
  };
}

/** Answers with one message. */
export function sendJson(response: ServerResponse, message: object): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
}

/** Answers with messages, one an event. */
export function sendEvents(response: ServerResponse, ...messages: readonly object[]): void {
  writeEvents(response, ...messages);
  response.end();
}

/** The same, and the answer goes on. */
export function writeEvents(response: ServerResponse, ...messages: readonly object[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const message of messages) {
    response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  }
}

const FILLING = Buffer.alloc(65_536, "x");

/** Writes so many octets, as fast as they are taken; answers how many were. */
export async function writeMany(
  response: ServerResponse,
  octets: number,
  piece: Buffer = FILLING,
): Promise<number> {
  let written = 0;
  const turn = { go: (): void => undefined };
  for (const event of ["drain", "close"]) response.on(event, () => turn.go());
  while (written < octets && !response.destroyed) {
    written += piece.length;
    const isTaken = response.write(piece);
    if (!isTaken) await new Promise<void>((resolve) => Object.assign(turn, { go: resolve }));
  }
  return written;
}
