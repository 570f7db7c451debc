/**
 * Progress of calls that take long: AGTP has none on its wire, so that a client which asked for it hears
 * for how many seconds its call has been under way, and may wait for longer than it would.
 * MCP "Progress"
 */
import type { ServerContext } from "@modelcontextprotocol/server";

/** Shorter than any client waits. */
const EVERY_SECONDS = 5;

/** Tells it from now on, until the function that is answered was called. */
export function tellProgress({ mcpReq }: Pick<ServerContext, "mcpReq">, tool: string): () => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  const timer = setInterval(() => {
    progress += EVERY_SECONDS;
    const message = `${tool} has been under way for ${progress} s`;
    const params = { progressToken, progress, message };
    // A client that has gone hears nothing.
    void mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  }, EVERY_SECONDS * 1_000);
  return () => clearInterval(timer);
}
