/**
 * `tools/list` is DISCOVER /tools as MCP asks for it: the caller passes the gates, and the answer is
 * recorded.   MCP "Listing Tools"
 */
import type { ListToolsResult } from "@modelcontextprotocol/server";
import { type Answer, ask } from "../ask.ts";
import type { McpFront, McpRequest } from "../front.ts";
import { refuseRequest } from "../protocol-errors.ts";

/**
 * How long a client may go on with a list that it has; who listens hears of changes at once. Where
 * contracts are negotiated, its own next call may change it.
 */
const TTL_MS = 60_000;
const TTL_WITH_OFFERS_MS = 0;

/** Says so, beside a page. */
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
