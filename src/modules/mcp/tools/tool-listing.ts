/**
 * Lists the tools that a caller may call, ordered by name, in pages. A page begins after a name, so that a list that
 * changes between pages loses and repeats nothing.
 * MCP "Listing Tools", "Pagination"
 */
import type { Tool } from "@modelcontextprotocol/server";
import { shareEncoded } from "../../../base/kept-text.ts";
import { isExemptFromLifecycle } from "../../../catalog/catalog.ts";
import type { CallerState } from "../../../dispatch/caller/caller-state.ts";
import { refuseInactive } from "../../../dispatch/gates/03-lifecycle.ts";
import { violationAt } from "../../../dispatch/refusals/refusal.ts";
import type { Candidate } from "../../../dispatch/routes/may-call.ts";
import { protocolRoute } from "../../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView, Route } from "../../../dispatch/routes/route.ts";
import type { ContractTools } from "../contracts/contract-tools.ts";
import { toolText } from "./tool-description.ts";
import type { ListedTool, McpTool, Toolbox } from "./toolbox.ts";

/** Many clients read only one page. */
const PAGE_SIZE = 500;
/** Encoding a longer page would block other work; a single tool may be longer. */
const PAGE_CHARACTERS = 1_048_576;

interface Page {
  readonly tools: readonly Tool[];
  readonly nextCursor?: string;
}

/** The route that lists tools, and the pages of its answers. */
export interface ToolListing {
  readonly route: Route;
  pageOf(exchange: ExchangeView): Page | undefined;
}

/** Creates the route for the tools that each caller may call. */
export function createToolListing(visible: VisibleTools): ToolListing {
  const given = new WeakMap<ExchangeView, Page>();
  const pages = new WeakMap<readonly ListedTool[], Map<string, Page>>();
  const route = protocolRoute({
    method: "DISCOVER",
    path: "/tools",
    description: "Lists the tools that the caller may call.",
    capability: "discovery",
    impact: "informational",
    inputSchema: INPUT_SCHEMA,
    isListed: false,
    handler: ({ input }, exchange) => {
      const { cursor, current } = input as { cursor?: string; current: boolean };
      const after = cursor === undefined ? "" : decodeCursor(cursor);
      if (after === undefined) {
        return violationAt("/cursor", "format", BAD_CURSOR);
      }
      const tools = visible(exchange);
      const page = remembered(pages, tools, `${current} ${after}`, () =>
        pageAfter(tools, after, current),
      );
      given.set(exchange, page);
      return { body: page };
    },
  });
  return { route, pageOf: (exchange) => given.get(exchange) };
}

const INPUT_SCHEMA = {
  type: "object",
  properties: { cursor: { type: "string", maxLength: 256 }, current: { type: "boolean" } },
  required: ["current"],
} as const;
/** The message for an invalid cursor. */
export const BAD_CURSOR = "must be a cursor that this server gave";

/** Returns the page of a cursor; undefined for an invalid cursor. */
export function pageAt(
  sorted: readonly ListedTool[],
  cursor: string | undefined,
  isCurrent: boolean,
): Page | undefined {
  const after = cursor === undefined ? "" : decodeCursor(cursor);
  return after === undefined ? undefined : pageAfter(sorted, after, isCurrent);
}

function pageAfter(visible: readonly ListedTool[], after: string, isCurrent: boolean): Page {
  const begin = after === "" ? 0 : firstAfter(visible, after);
  const tools: Tool[] = [];
  const texts: string[] = [];
  let length = 0;
  while (begin + tools.length < visible.length && tools.length < PAGE_SIZE) {
    const description = visible[begin + tools.length]?.description;
    const tool = isCurrent ? description?.current : description?.older;
    const text = tool === undefined ? "" : toolText(tool);
    length += text.length;
    if (tool === undefined || (tools.length > 0 && length > PAGE_CHARACTERS)) break;
    tools.push(tool);
    texts.push(text);
  }
  const isLast = begin + tools.length >= visible.length;
  const nextCursor = isLast ? undefined : encodeCursor(tools.at(-1)?.name ?? "");
  const more = nextCursor === undefined ? "" : `,"nextCursor":"${nextCursor}"`;
  const page = { tools, ...(nextCursor === undefined ? {} : { nextCursor }) };
  return shareEncoded(page, `{"tools":[${texts.join(",")}]${more}}`);
}

/** The first index after a name in the sorted list. */
function firstAfter(visible: readonly ListedTool[], name: string): number {
  let [low, high] = [0, visible.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((visible[middle]?.name ?? "") <= name) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Caches a page while its list exists; few distinct pages are requested. */
function remembered(
  pages: WeakMap<readonly ListedTool[], Map<string, Page>>,
  list: readonly ListedTool[],
  key: string,
  make: () => Page,
): Page {
  const known = pages.get(list) ?? new Map<string, Page>();
  pages.set(list, known);
  const page = known.get(key) ?? make();
  if (known.size < MAX_PAGES) known.set(key, page);
  return page;
}

const MAX_PAGES = 64;

function encodeCursor(name: string): string {
  return Buffer.from(`after:${name}`).toString("base64url");
}

function decodeCursor(cursor: string): string | undefined {
  return /^after:([A-Za-z0-9_-]{1,64})$/.exec(Buffer.from(cursor, "base64url").toString())?.[1];
}

interface VisibleParts {
  readonly toolbox: Pick<Toolbox, "visibleTo">;
  readonly contracts: { readonly tools: Pick<ContractTools, "withOwn"> };
  readonly lifecycle: CallerState["lifecycle"];
}

/** Lists the tools of a caller; returns the same list while nothing changes. */
export type VisibleTools = (candidate: Candidate) => readonly ListedTool[];

/**
 * Lists the tools that a caller may call: the common ones that its authority reaches and its own contracts; while it
 * may not act, only the exempt ones.
 */
export function visibleTools({ toolbox, contracts, lifecycle }: VisibleParts): VisibleTools {
  const exempt = new WeakMap<readonly ListedTool[], readonly ListedTool[]>();
  return (candidate) => {
    const all = toolbox.visibleTo(candidate);
    const isActive = refuseInactive(candidate.caller.document, lifecycle) === undefined;
    if (isActive) return contracts.tools.withOwn(all, candidate);
    const known = exempt.get(all) ?? all.filter(isExempt);
    exempt.set(all, known);
    return known;
  };
}

function isExempt(tool: ListedTool & Partial<McpTool>): boolean {
  return tool.route !== undefined && isExemptFromLifecycle(tool.route.method);
}
