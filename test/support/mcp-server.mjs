/** A tool server for tests, by the SDK; run by itself it serves on standard input and output. */
import { pathToFileURL } from "node:url";
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const { ECHO_NAME = "echo", ECHO_DESCRIPTION = "Says it again.", ECHO_PROPERTY } = process.env;
const ECHO = {
  name: ECHO_NAME,
  description: ECHO_DESCRIPTION,
  inputSchema: {
    type: "object",
    properties: {
      text: { type: "string" },
      ...(ECHO_PROPERTY && { [ECHO_PROPERTY]: { type: "string", description: ECHO_PROPERTY } }),
    },
  },
  annotations: { readOnlyHint: true },
};
const ADD = {
  name: "add",
  inputSchema: {
    type: "object",
    properties: { left: { type: "number" }, right: { type: "number" } },
    required: ["left", "right"],
  },
  outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
};

export function makeServer() {
  const server = new Server(
    { name: "tools", version: "1.0.0" },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler("tools/list", () => ({ tools: [ECHO, ADD] }));
  server.setRequestHandler("tools/call", ({ params }) => {
    const { name, arguments: args = {} } = params;
    if (name === "add") {
      const sum = args.left + args.right;
      return { content: [{ type: "text", text: String(sum) }], structuredContent: { sum } };
    }
    if (args.text === "fail")
      return { isError: true, content: [{ type: "text", text: "it failed" }] };
    if (args.text === "exit") process.exit(1);
    if (args.text === "list") return { content: [], structuredContent: ["tea", 2] };
    return { content: [{ type: "text", text: String(args.text) }] };
  });
  return server;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) serveStdio(makeServer);
