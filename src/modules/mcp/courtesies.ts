/**
 * Requests that clients make of every server and that change nothing here: nothing is completed, since
 * there is nothing to choose from, and no log is sent, whatever the level is. Clients that ask all the
 * same are answered.   MCP "Completion", MCP 2025-11-25 "Logging"
 */
import type { Server, ServerCapabilities } from "@modelcontextprotocol/server";
import { ANY_PARAMS } from "./params.ts";

/** The capabilities that both protocols are told of. */
export const COURTESIES: ServerCapabilities = { completions: {} };
/** And the older one alone, in which logging is no thing of the past. */
export const OLDER_COURTESIES: ServerCapabilities = { ...COURTESIES, logging: {} };

/** Adds the handlers; the library has one for the level of logs. */
export function handleCourtesies(server: Server): void {
  server.setRequestHandler("completion/complete", { params: ANY_PARAMS }, () => ({
    completion: { values: [], total: 0, hasMore: false },
  }));
}
