/** A tool server that leaves its process's id in the folder `NOTES`, and whose calls can be held up there. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const note = (name) => join(process.env.NOTES, name);
const TOOL = {
  name: "echo",
  description: "Says it again.",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
  annotations: { readOnlyHint: true },
};

function appeared(name) {
  return new Promise((resolve) => {
    const look = setInterval(() => {
      if (!existsSync(note(name))) return;
      clearInterval(look);
      resolve();
    }, 10);
  });
}

function makeServer() {
  const server = new Server(
    { name: "tools", version: "1.0.0" },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler("tools/list", () => ({ tools: [TOOL] }));
  server.setRequestHandler("tools/call", async ({ params }) => {
    const { text } = params.arguments ?? {};
    if (text === "wait") {
      writeFileSync(note("waiting"), "");
      await appeared("go");
    }
    return { content: [{ type: "text", text: String(process.pid) }] };
  });
  return server;
}

if (process.env.EDITION === "stubborn") {
  process.on("SIGTERM", () => undefined);
  setInterval(() => undefined, 1_000);
}
writeFileSync(note(`pid-${process.pid}`), "");
serveStdio(makeServer);
