/**
 * `tools/list` is DISCOVER /tools as MCP asks for it: who asks passes the gates, and the answer is
 * recorded.   MCP "Listing Tools"
 */
import type { ListToolsResult } from "@modelcontextprotocol/server";
import { ask } from "./ask.ts";
import type { McpRequest } from "./front.ts";
import { refuseRequest } from "./refuse-request.ts";

/**
 * How long a client may go on with a list that it has; who listens hears of changes at once. Where
 * contracts are negotiated, its own next call may change it.
 */
const TTL_MS = 60_000;
const TTL_WITH_OFFERS_MS = 0;

/** Answers `tools/list`. */
export async function listTools(
  request: McpRequest,
  cursor: string | undefined,
  isCurrent: boolean,
): Promise<ListToolsResult> {
  const { listing, contracts } = request.front;
  const ttlMs = contracts.offers === undefined ? TTL_MS : TTL_WITH_OFFERS_MS;
  const answer = await ask(request, {
    ...{ method: "DISCOVER", path: "/tools", route: listing.route },
    input: { current: isCurrent, ...(cursor === undefined ? {} : { cursor }) },
  });
  const page = answer && listing.pageOf(answer.exchange);
  if (answer === undefined || page === undefined) throw refuseRequest(request, answer);
  return {
    ...page,
    tools: [...page.tools],
    ...(isCurrent ? { ttlMs, cacheScope: "private" as const } : {}),
  };
}
