/**
 * MCP's own library alone: its low-level server with one tool, on `node:http`. Run as a separate
 * process: `mcp-library.js`.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createMcpHandler,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { ORDER_RESULT, ORDER_SCHEMA } from "./order.ts";

const ajv = new Ajv2020();
formats.default(ajv);
const isOrder = ajv.compile(ORDER_SCHEMA);
const content = [{ type: "text" as const, text: JSON.stringify(ORDER_RESULT) }];

function createServerOfOne(): Server {
  const server = new Server({ name: "bench", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/call", ({ params }) => {
    if (!isOrder(params.arguments)) throw new Error("the arguments do not fit");
    return { content, structuredContent: ORDER_RESULT };
  });
  return server;
}

const handler = createMcpHandler(createServerOfOne);
/** Sessions of 2025-11-25, each with its own server. */
const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

async function beginSession(): Promise<WebStandardStreamableHTTPServerTransport> {
  const transport: WebStandardStreamableHTTPServerTransport =
    new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
  await createServerOfOne().connect(transport);
  return transport;
}

const listener = createServer((request, reply) => void answer(request, reply));
listener.listen(0, "127.0.0.1", () => {
  const { port } = listener.address() as AddressInfo;
  console.log(JSON.stringify({ event: "listening", port }));
});
process.on("SIGTERM", () => process.exit(0));

const CURRENT = "2026-07-28";

async function answer(request: IncomingMessage, reply: ServerResponse): Promise<void> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  const { method = "", headers } = request;
  const fields = new Headers();
  for (const [name, value] of Object.entries(headers)) fields.set(name, String(value));
  const asked = new Request("http://localhost/mcp", { method, headers: fields });
  const options = { parsedBody: JSON.parse(text) };
  const response = await (fields.get("mcp-protocol-version") === CURRENT
    ? handler.fetch(asked, options)
    : (await sessionOf(fields)).handleRequest(asked, options));
  const body = await response.text();
  const sessionId = response.headers.get("mcp-session-id");
  reply.writeHead(response.status, {
    ...(sessionId === null ? {} : { "mcp-session-id": sessionId }),
    "content-type": response.headers.get("content-type") ?? "",
    "content-length": Buffer.byteLength(body),
  });
  reply.end(body);
}

async function sessionOf(fields: Headers): Promise<WebStandardStreamableHTTPServerTransport> {
  return sessions.get(fields.get("mcp-session-id") ?? "") ?? (await beginSession());
}
