/**
 * `tools/list` is DISCOVER /tools for MCP: the caller passes the gates, and the answer is recorded.   MCP "Listing
 * Tools"
 */
import type { ListToolsResult } from "@modelcontextprotocol/server";
import { type Answer, ask } from "../ask.ts";
import type { McpFront, McpRequest } from "../front.ts";
import { refuseRequest } from "../protocol-errors.ts";

/**
 * Time for which a client may cache a list; listeners are notified of changes at once. With negotiation on, the
 * client's own next call may change the list.
 */
const TTL_MS = 60_000;
const TTL_WITH_OFFERS_MS = 0;

/** Returns the caching members of a page. */
export function listCaching({
  contracts,
}: McpFront): Pick<ListToolsResult, "ttlMs" | "cacheScope"> {
  const ttlMs = contracts.offers === undefined ? TTL_MS : TTL_WITH_OFFERS_MS;
  return { ttlMs, cacheScope: "private" };
}

/** Answers `tools/list`. */
export async function listTools(
  request: McpRequest,
  cursor: string | undefined,
  isCurrent: boolean,
): Promise<ListToolsResult> {
  const { front } = request;
  const answer = await askForTools(request, cursor, isCurrent);
  const page = answer && front.listing.pageOf(answer.exchange);
  if (answer === undefined || page === undefined) throw refuseRequest(request, answer);
  return { ...page, tools: [...page.tools], ...(isCurrent ? listCaching(front) : {}) };
}

/** Requests a page; the body of the answer is the page. */
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
