import type { Server } from "@modelcontextprotocol/server";

/** The server of `mcp-server.mjs`. */
export function makeServer(): Server;
