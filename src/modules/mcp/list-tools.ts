/**
 * `tools/list` is DISCOVER /tools as MCP asks for it: who asks passes the gates, and the answer is
 * recorded.   MCP "Listing Tools"
 */
import type { ListToolsResult } from "@modelcontextprotocol/server";
import { type Answer, ask } from "./ask.ts";
import type { McpRequest } from "./front.ts";
import { refuseRequest } from "./refuse-request.ts";

/** How long a client may go on with a list that it has; who listens hears of changes at once. */
export const LIST_CACHING = { ttlMs: 60_000, cacheScope: "private" } as const;

/** Answers `tools/list`. */
export async function listTools(
  request: McpRequest,
  cursor: string | undefined,
  isCurrent: boolean,
): Promise<ListToolsResult> {
  const answer = await askForTools(request, cursor, isCurrent);
  const page = answer && request.front.listing.pageOf(answer.exchange);
  if (answer === undefined || page === undefined) throw refuseRequest(request, answer);
  return { ...page, tools: [...page.tools], ...(isCurrent ? LIST_CACHING : {}) };
}

/** Asks for a page; the body of the answer is the page. */
export function askForTools(
  request: McpRequest,
  cursor: string | undefined,
  isCurrent: boolean,
): Promise<Answer | undefined> {
  return ask(request, {
    ...{ method: "DISCOVER", path: "/tools", route: request.front.listing.route },
    input: { current: isCurrent, ...(cursor === undefined ? {} : { cursor }) },
  });
}
