/** The call that every server is measured with: an order of five fields, and its small answer. */

/** The input schema of the call. */
export const ORDER_SCHEMA = {
  type: "object",
  required: ["item", "quantity", "price", "date", "express"],
  additionalProperties: false,
  properties: {
    item: { type: "string", minLength: 1, maxLength: 40 },
    quantity: { type: "integer", minimum: 1 },
    price: { type: "number" },
    date: { type: "string", format: "date" },
    express: { type: "boolean" },
  },
} as const;

/** The answer of the handler. */
export const ORDER_RESULT = { order_id: "a3f1c2d4", status: "placed", total: 38.5 } as const;

/** The Agent-ID of the nth agent of a deployment. */
export function benchAgentId(index: number): string {
  return "be".repeat(28) + index.toString(16).padStart(8, "0");
}

const INPUT = { item: "espresso", quantity: 2, price: 19.25, date: "2030-05-04", express: true };
/** The body of the call. */
export const ORDER: string = JSON.stringify(INPUT);

/** An AGTP request as bytes. */
export function agtpRequest(
  method: string,
  path: string,
  { body = ORDER, agent = 0 }: { readonly body?: string; readonly agent?: number } = {},
): Buffer {
  return Buffer.from(
    `AGTP/1.0 ${method} ${path}\r\nAgent-ID: ${benchAgentId(agent)}\r\n` +
      `Content-Type: application/vnd.agtp+json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}

/** The same call over HTTP/1.1, with a header of equal size for the identity. */
export function httpRequest(path: string): Buffer {
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAgent-ID: ${benchAgentId(0)}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${ORDER.length}\r\n\r\n${ORDER}`,
  );
}

/** An MCP message over HTTP/1.1, as a client of 2026-07-28 sends it. */
export function mcpRequest(method: string, params: Readonly<Record<string, unknown>>): Buffer {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": MCP_VERSION,
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } });
  const { name } = params;
  return Buffer.from(
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nMCP-Protocol-Version: ${MCP_VERSION}\r\n` +
      `Mcp-Method: ${method}\r\n${name === undefined ? "" : `Mcp-Name: ${String(name)}\r\n`}` +
      "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n" +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
}

const MCP_VERSION = "2026-07-28";

/** The same call in a session of 2025-11-25, where requests in flight need distinct ids. */
export function sessionCall(sessionId: string, id: number, tool: string): Buffer {
  const params = { name: tool, arguments: INPUT };
  const body = JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
  return Buffer.from(
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nMCP-Protocol-Version: 2025-11-25\r\n` +
      `Mcp-Session-Id: ${sessionId}\r\nAccept: application/json, text/event-stream\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}

/** The same call as a tool call. */
export function mcpCall(tool: string): Buffer {
  return mcpRequest("tools/call", { name: tool, arguments: INPUT });
}
