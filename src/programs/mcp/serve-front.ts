/** The front of a server on standard input and output, for both protocols, until the input ends.   MCP "stdio" */
import type { Implementation, Server, ServerOptions } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { reasonOf } from "../../base/thrown.ts";
import { VERSION } from "../../base/version.ts";
import { COURTESIES, handleCourtesies, OLDER_COURTESIES } from "../../modules/mcp/courtesies.ts";
import { SCHEMAS_UNUSED } from "../../modules/mcp/no-validator.ts";
import { OpaqueServer } from "../../modules/mcp/opaque-server.ts";
import { LIST_PARAMS, refuseCursor, withText } from "../../modules/mcp/params.ts";
import { handleTasks, knowsTasks, TASKS_EXTENSION } from "../../modules/mcp/task-requests.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { ServerFront } from "./server-front.ts";
import { tellProgress } from "./tell-progress.ts";

const TASKS = { extensions: { [TASKS_EXTENSION]: {} } };
const INFO: Implementation = { name: "agtp-mcp", version: VERSION };

/** Says something to a person. */
type Tell = (message: string) => void;

/** Serves; resolves once the client has gone. */
export async function serveFront(
  front: ServerFront,
  { input, output }: Terminal["streams"],
  tell: Tell,
): Promise<void> {
  const transport = new StdioServerTransport(input, output);
  const make = ({ era }: { readonly era: string }): Server => {
    const server = createServer(front, tell, era === "modern");
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

function createServer(front: ServerFront, tell: Tell, isCurrent: boolean): Server {
  const options: ServerOptions = {
    capabilities: {
      ...{ tools: { listChanged: true }, resources: {} },
      ...(isCurrent ? { ...COURTESIES, ...TASKS } : OLDER_COURTESIES),
    },
    jsonSchemaValidator: SCHEMAS_UNUSED,
  };
  const server = new OpaqueServer(INFO, options, (thrown) => {
    tell(`a request failed: ${reasonOf(thrown)}`);
    return { code: -32_603, message: "the program failed to answer", data: {} };
  });
  handleCourtesies(server);
  if (isCurrent) handleTasks(server, () => front.tasks);
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
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const { name, arguments: input = {} } = params;
    const { _meta: meta, signal } = context.mcpReq;
    const quiet = tellProgress(context, name);
    try {
      const isKnowing = isCurrent && knowsTasks(context);
      return await front.call({
        ...{ name, arguments: input, meta, signal, isCurrent, knowsTasks: isKnowing },
      });
    } finally {
      quiet();
    }
  });
  return server;
}
