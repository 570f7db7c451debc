/** The front of a server on standard input and output, for both protocols, until the input ends.   MCP "stdio" */
import { type Implementation, Server } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { VERSION } from "../../base/version.ts";
import { COURTESIES, handleCourtesies, OLDER_COURTESIES } from "../../modules/mcp/courtesies.ts";
import { SCHEMAS_UNUSED } from "../../modules/mcp/no-validator.ts";
import { LIST_PARAMS, refuseCursor, withText } from "../../modules/mcp/params.ts";
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
  const make = ({ era }: { readonly era: string }): Server => {
    const server = createServer(front, era === "modern");
    // In the current protocol the library tells those who listen, in the older one everybody.
    front.watch(() => void server.sendToolListChanged().catch(() => undefined));
    return server;
  };
  serveStdio(make, { transport, onerror: ({ message }) => tell(message) });
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
    capabilities: {
      ...{ tools: { listChanged: true }, resources: {} },
      ...(isCurrent ? COURTESIES : OLDER_COURTESIES),
    },
    jsonSchemaValidator: SCHEMAS_UNUSED,
  });
  handleCourtesies(server);
  server.setRequestHandler("tools/list", { params: LIST_PARAMS }, ({ cursor }) =>
    front.list(cursor, isCurrent),
  );
  server.setRequestHandler("resources/list", { params: LIST_PARAMS }, async ({ cursor }) => {
    refuseCursor(cursor);
    return { resources: await front.resources() };
  });
  server.setRequestHandler("resources/templates/list", { params: LIST_PARAMS }, ({ cursor }) => {
    refuseCursor(cursor);
    return { resourceTemplates: [] };
  });
  server.setRequestHandler("resources/read", { params: withText("uri") }, ({ uri }, { mcpReq }) =>
    front.read(uri, mcpReq.signal),
  );
  server.setRequestHandler("tools/call", ({ params }, { mcpReq: { _meta: meta, signal } }) => {
    const { name, arguments: input = {} } = params;
    return front.call({ name, arguments: input, meta, signal, isCurrent });
  });
  return server;
}
