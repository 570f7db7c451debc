/**
 * Lists of tools: what a caller may call, in the order of names, a page at a time. A page begins
 * after a name, so that a list that changes in between loses nothing and repeats nothing.
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

/** Many clients read one page and no more. */
const PAGE_SIZE = 500;
/** Encoding a longer one would keep others waiting; one tool may be longer. */
const PAGE_CHARACTERS = 1_048_576;

interface Page {
  readonly tools: readonly Tool[];
  readonly nextCursor?: string;
}

/** The route that lists tools, and the pages that it has given. */
export interface ToolListing {
  readonly route: Route;
  pageOf(exchange: ExchangeView): Page | undefined;
}

/** The route over the tools that each caller may call. */
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
/** Says that a cursor is none. */
export const BAD_CURSOR = "must be a cursor that this server gave";

/** The page that a cursor names; undefined for a cursor that no page gave. */
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

/** The first place behind a name; the list is sorted. */
function firstAfter(visible: readonly ListedTool[], name: string): number {
  let [low, high] = [0, visible.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((visible[middle]?.name ?? "") <= name) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Few pages are asked for again and again; of a list that is gone none is kept. */
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

/** Lists tools; the same list as long as nothing has changed for the caller. */
export type VisibleTools = (candidate: Candidate) => readonly ListedTool[];

/**
 * The tools that a caller may call: of those that everybody has and of its own contracts, what its
 * authority reaches, and nothing while it may not act but what it may call even then.
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
