/** An MCP server on standard input and output, as a vendor might ship one. */
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const day = { type: "string", format: "date" };
const FIND_EVENTS = {
  name: "find_events",
  description: "Finds what is on in the city on a day.",
  inputSchema: { type: "object", properties: { day }, required: ["day"] },
  annotations: { readOnlyHint: true },
};

serveStdio(() => {
  const about = { name: "city", version: "1.0.0" };
  const server = new Server(about, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools: [FIND_EVENTS] }));
  server.setRequestHandler("tools/call", ({ params }) => {
    const text = JSON.stringify({ title: "Night market", day: params.arguments.day });
    return { content: [{ type: "text", text }] };
  });
  return server;
});
