/**
 * The tools of a deployment: their endpoints, callers and descriptions for both protocols. They are computed when the
 * deployment is loaded, so that a call takes one look-up, however many tools there are.   MCP "Tools"
 */
import type { Tool } from "@modelcontextprotocol/server";
import { mapPaced, type Paced, sortPaced } from "../../../base/paced.ts";
import { type CallRules, type Candidate, mayCall } from "../../../dispatch/routes/may-call.ts";
import type { Route } from "../../../dispatch/routes/route.ts";
import { isTool } from "../../../dispatch/tools/tool.ts";
import { namingTools } from "../../../dispatch/tools/tool-names.ts";
import { describeTool, type ToolDescription, toolText, withOutput } from "./tool-description.ts";

export interface ListedTool {
  readonly name: string;
  readonly description: ToolDescription;
}

export interface McpTool extends ListedTool {
  readonly route: Route;
}

interface ToolboxParts {
  /** In serving order. */
  readonly routes: readonly Route[];
  /** True for an endpoint that DISCOVER lists; others are no tools. */
  isListed(route: Route): boolean;
  /** `[mcp] tools` */
  readonly tools: "operator" | "all";
  readonly rules: CallRules;
  isAllowed(method: string): boolean;
  /** Tools without an endpoint, for every agent that this server knows. */
  readonly further: readonly Tool[];
}

/** Endpoints that are tools, and those of the protocol itself. */
interface ChosenRoutes {
  readonly own: readonly Route[];
  readonly floor: readonly Route[];
}

function* choosing({ routes, tools, isAllowed, isListed }: ToolboxParts): Paced<ChosenRoutes> {
  const [own, floor]: [Route[], Route[]] = [[], []];
  for (const route of routes) {
    yield;
    if (!isAllowed(route.method)) continue;
    if (isTool(route) && isListed(route)) own.push(route);
    if (tools === "all" && route.tier === "A" && route.path === "/") floor.push(route);
  }
  return { own, floor };
}

function* describing({ further }: ToolboxParts, { own, floor }: ChosenRoutes): Paced<McpTool[]> {
  const taken = further.map(({ name }) => name);
  const ownNames = yield* naming(own, taken);
  const floorNames = yield* naming(floor, [...taken, ...ownNames]);
  const names = [...ownNames, ...floorNames];
  return yield* mapPaced([...own, ...floor].entries(), ([index, route]) => {
    const name = names[index] ?? "";
    return { name, route, description: describeTool(name, route.definition) };
  });
}

function naming(routes: readonly Route[], taken: readonly string[]): Paced<readonly string[]> {
  return namingTools(
    routes.map(({ definition }) => definition),
    taken,
  );
}

/** Tools by name, and the scopes that they require. */
interface IndexedTools {
  readonly byName: ReadonlyMap<string, McpTool>;
  readonly scopes: ReadonlySet<string>;
}

function* indexing(tools: readonly McpTool[]): Paced<IndexedTools> {
  const named = new Map<string, McpTool>();
  const scopes = new Set<string>();
  for (const tool of tools) {
    named.set(tool.name, tool);
    for (const scope of tool.route.requiredScopes) scopes.add(scope);
    // Encoded before the first list that needs it.
    toolText(tool.description.current);
    yield;
  }
  return { byName: named, scopes };
}

export class Toolbox {
  readonly #rules: CallRules;
  readonly #byName: ReadonlyMap<string, McpTool>;
  /** Sorted by name, independent of the load order. */
  readonly #sorted: readonly McpTool[];
  readonly #further: readonly ListedTool[];
  /** Visible tools by authority, whose object is stable while its holder is remembered. */
  readonly #visible = new WeakMap<object, Map<string, readonly ListedTool[]>>();

  /** The scopes that any tool requires. */
  readonly scopes: readonly string[];

  private constructor(
    { rules, further }: ToolboxParts,
    sorted: readonly McpTool[],
    { byName, scopes }: IndexedTools,
  ) {
    this.#rules = rules;
    this.#byName = byName;
    this.#sorted = sorted;
    this.#further = further.map((tool) => ({
      name: tool.name,
      description: withOutput(tool, {}),
    }));
    this.scopes = [...scopes].sort();
  }

  /** Creates the toolbox, one tool per step. */
  static *creating(parts: ToolboxParts): Paced<Toolbox> {
    const tools = yield* describing(parts, yield* choosing(parts));
    const sorted = yield* sortPaced(tools, byName);
    return new Toolbox(parts, sorted, yield* indexing(sorted));
  }

  /** Finds a tool; the gates decide if its caller may call it. */
  find(name: string): McpTool | undefined {
    return this.#byName.get(name);
  }

  /** Lists the tools that a caller may call, by name; returns the same list for the same authority. */
  visibleTo(candidate: Candidate): readonly ListedTool[] {
    const { caller, peer } = candidate;
    const lists = this.#visible.get(caller.authority) ?? new Map<string, readonly ListedTool[]>();
    this.#visible.set(caller.authority, lists);
    const key = `${caller.principalId === undefined} ${peer.isAnybody === true}`;
    const known = lists.get(key);
    if (known !== undefined) return known;
    const own = this.#sorted.filter(({ route }) => mayCall(route, candidate, this.#rules));
    const list = caller.document === undefined ? own : [...own, ...this.#further].sort(byName);
    lists.set(key, list);
    return list;
  }
}

/** Orders tools by name. */
export function byName(one: ListedTool, other: ListedTool): number {
  return one.name < other.name ? -1 : 1;
}
