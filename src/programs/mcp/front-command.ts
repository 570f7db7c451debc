/** `agtp-mcp URI`: stands in front of a server, as the agent that the command line names. */

import { createClient } from "../../client/client.ts";
import { parseUri } from "../../client/uri.ts";
import type { HeaderField } from "../../wire/message.ts";
import { clientOptions } from "../shell/ask-server.ts";
import { readText, usage } from "../shell/command-file.ts";
import type { Line } from "../shell/command-line.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";
import type { FRONT_ARGS, FRONT_OPTIONS } from "./front-options.ts";
import { serveFront } from "./serve-front.ts";
import { ServerFront } from "./server-front.ts";

/** How long a call may take; servers have deadlines of their own, and clients cancel. */
const TIMEOUT_MS = 600_000;
/** A slow call holds up none of these. */
const CONNECTIONS = 8;

/** Serves MCP until standard input ends. */
export async function runFront(
  line: Line<typeof FRONT_ARGS, typeof FRONT_OPTIONS>,
  terminal: Terminal,
): Promise<void> {
  const uri = parseUri(line.uri);
  if (uri.path !== undefined || uri.query !== undefined || uri.agentId !== undefined) {
    throw usage("expected the URI of a server, agtp://HOST[:PORT]");
  }
  const lookMs = readSeconds(line.look) * 1_000;
  const client = createClient({
    ...clientOptions(line, uri, terminal),
    ...{ timeoutMs: TIMEOUT_MS, maxConnections: CONNECTIONS },
  });
  const tell = (message: string): void => {
    terminal.err.write(`agtp-mcp: ${defuseLine(message)}\n`);
  };
  const caller = {
    agentId: line.agentId,
    scopes: line.scope?.split(",").map((scope) => scope.trim()),
    headers: bearerField(line.bearer, terminal),
  };
  const front = new ServerFront({ client, caller, tell, now: () => performance.now(), lookMs });
  try {
    await serveFront(front, terminal.streams, tell);
  } finally {
    front.close();
    await client.close();
  }
}

function readSeconds(text = "60"): number {
  const isSeconds = /^\d{1,5}$/.test(text) && Number(text) > 0;
  if (!isSeconds) throw usage("expected --look in whole seconds, 1 to 99999");
  return Number(text);
}

/** A token in a file is in no list of processes. */
function bearerField(bearer: string | undefined, { directory }: Terminal): HeaderField[] {
  if (bearer === undefined) return [];
  const token = bearer.startsWith("@") ? readText(directory, bearer.slice(1)).trim() : bearer;
  return [["Authorization", `Bearer ${token}`]];
}
