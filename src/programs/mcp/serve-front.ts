/** The front of a server on standard input and output, for both protocols, until the input ends.   MCP "stdio" */
import { type Implementation, Server } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { VERSION } from "../../base/version.ts";
import { SCHEMAS_UNUSED } from "../../modules/mcp/no-validator.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { ServerFront } from "./server-front.ts";

const INFO: Implementation = { name: "agtp-mcp", version: VERSION };

/** Serves; resolves once the client has gone. */
export async function serveFront(
  front: ServerFront,
  { input, output }: Terminal["streams"],
  tell: (message: string) => void,
): Promise<void> {
  const transport = new StdioServerTransport(input, output);
  serveStdio(({ era }) => createServer(front, era === "modern"), {
    transport,
    onerror: ({ message }) => tell(message),
  });
  await new Promise<void>((resolve) => {
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });
  // A message that was too long ends the conversation with the input still open.
  input.destroy();
}

function createServer(front: ServerFront, isCurrent: boolean): Server {
  const server = new Server(INFO, {
    capabilities: { tools: {} },
    jsonSchemaValidator: SCHEMAS_UNUSED,
  });
  server.setRequestHandler("tools/list", ({ params }) => front.list(params?.cursor, isCurrent));
  server.setRequestHandler("tools/call", ({ params }, { mcpReq: { _meta: meta, signal } }) => {
    const { name, arguments: input = {} } = params;
    return front.call({ name, arguments: input, meta, signal, isCurrent });
  });
  return server;
}
