/**
 * The tools that a caller may call: of those that everybody has and of its own contracts, what its
 * authority reaches, and nothing while it may not act but what it may call even then.
 */
import { isExemptFromLifecycle } from "../../../catalog/catalog.ts";
import type { CallerState } from "../../../dispatch/caller/caller-state.ts";
import { refuseInactive } from "../../../dispatch/gates/00-02-03-17-caller.ts";
import type { Candidate } from "../../../dispatch/routes/may-call.ts";
import type { ContractTools } from "../contracts/contract-tools.ts";
import type { ListedTool, McpTool, Toolbox } from "./toolbox.ts";

/** Where they are looked up. */
interface VisibleParts {
  readonly toolbox: Pick<Toolbox, "visibleTo">;
  readonly contracts: { readonly tools: Pick<ContractTools, "withOwn"> };
  readonly lifecycle: CallerState["lifecycle"];
}

/** Lists tools; the same list as long as nothing has changed for the caller. */
export type VisibleTools = (candidate: Candidate) => readonly ListedTool[];

/** Over the tools of a deployment. */
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
