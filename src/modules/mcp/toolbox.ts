/**
 * The tools of a deployment: which endpoint each stands for, which of them a caller may call, and how
 * both protocols describe them. All of it is decided when the deployment is loaded, so that a call is
 * one look-up however many there are.   MCP "Tools"
 */
import type { Tool } from "@modelcontextprotocol/server";
import { atOnce } from "../../base/paced.ts";
import { type CallRules, type Candidate, mayCall } from "../../dispatch/may-call.ts";
import type { Route } from "../../dispatch/route.ts";
import { isTool } from "../../dispatch/tool.ts";
import { namingTools } from "../../dispatch/tool-names.ts";
import { describeTool, type ToolDescription, withOutput } from "./tool-description.ts";

/** A tool as it is listed. */
export interface ListedTool {
  readonly name: string;
  readonly description: ToolDescription;
}

/** One that is an endpoint. */
export interface McpTool extends ListedTool {
  readonly route: Route;
}

/** What tools are made of. */
export interface ToolboxParts {
  /** In the order in which they are served. */
  readonly routes: readonly Route[];
  /** Whether DISCOVER lists an endpoint: what cannot be used here is no tool either. */
  isListed(route: Route): boolean;
  /** `[mcp] tools` */
  readonly tools: "operator" | "all";
  readonly rules: CallRules;
  isAllowed(method: string): boolean;
  /** Tools that are no endpoint of their own; for every agent that this server knows. */
  readonly further: readonly Tool[];
}

/** All tools of a deployment. */
export class Toolbox {
  readonly #rules: CallRules;
  readonly #byName: ReadonlyMap<string, McpTool>;
  /** By name, so that the order is the same whatever was loaded first. */
  readonly #sorted: readonly McpTool[];
  readonly #further: readonly ListedTool[];
  /** What an authority shows; it is the same object as long as its holder is remembered. */
  readonly #visible = new WeakMap<object, Map<string, readonly ListedTool[]>>();

  constructor({ routes, tools, rules, isAllowed, isListed, further }: ToolboxParts) {
    const allowed = routes.filter(({ method }) => isAllowed(method));
    const own = allowed.filter((route) => isTool(route) && isListed(route));
    const floor =
      tools === "all" ? allowed.filter((route) => route.tier === "A" && route.path === "/") : [];
    const taken = further.map(({ name }) => name);
    const ownNames = atOnce(
      namingTools(
        own.map(({ definition }) => definition),
        taken,
      ),
    );
    const floorNames = atOnce(
      namingTools(
        floor.map(({ definition }) => definition),
        [...taken, ...ownNames],
      ),
    );
    const named = (list: readonly Route[], names: readonly string[]): readonly McpTool[] =>
      list.map((route, index) => {
        const name = names[index] ?? "";
        return { name, route, description: describeTool(name, route.definition) };
      });
    const all = [...named(own, ownNames), ...named(floor, floorNames)];
    this.#rules = rules;
    this.#byName = new Map(all.map((tool) => [tool.name, tool]));
    this.#sorted = all.toSorted(byName);
    this.#further = further.map((tool) => ({
      name: tool.name,
      description: withOutput(tool, {}),
    }));
  }

  /** Whether its caller may call it is for the gates to say. */
  find(name: string): McpTool | undefined {
    return this.#byName.get(name);
  }

  /** Those that some tool asks for. */
  get scopes(): readonly string[] {
    return [...new Set(this.#sorted.flatMap(({ route }) => route.requiredScopes))].sort();
  }

  /** What a caller may call, in the order of names; the same list for the same authority. */
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

/** The order of lists of tools. */
export function byName(one: ListedTool, other: ListedTool): number {
  return one.name < other.name ? -1 : 1;
}
