/** The state of an agent's dependencies, as callers are shown it; keys are the wire's own. */
import type { OptionView } from "../choose-option.ts";
import type { DependencyNode } from "./dependency-tree.ts";

/** One dependency and its own. */
export interface DependencyView {
  readonly name: string;
  readonly agent: string;
  readonly version: string;
  /**
   * `available`: its server has it. `declared`: it is deployed by others, and was not looked for.
   * `unchecked`: nobody has looked yet. `failed`: it cannot be relied on.
   */
  readonly status: "available" | "declared" | "unchecked" | "failed";
  readonly reason?: string;
  readonly option?: OptionView;
  readonly dependencies: readonly DependencyView[];
}

/** The services as they were found, by node; undefined: nobody has looked. */
type Reachability = ReadonlyMap<DependencyNode, { readonly fault: string | undefined }>;

/** The dependencies with what was found out. */
export function viewDependencies(
  nodes: readonly DependencyNode[],
  reached: Reachability,
): readonly DependencyView[] {
  return nodes.map((node) => {
    const { name, ref, option } = node;
    const reason = node.fault ?? reached.get(node)?.fault;
    return {
      name,
      agent: ref.name,
      version: ref.version,
      status: reason === undefined ? statusOf(node, reached) : "failed",
      ...(reason === undefined ? {} : { reason }),
      ...(option === undefined ? {} : { option }),
      dependencies: viewDependencies(node.dependencies, reached),
    };
  });
}

function statusOf(node: DependencyNode, reached: Reachability): DependencyView["status"] {
  if (node.choice?.kind === "declared") return "declared";
  return reached.has(node) ? "available" : "unchecked";
}
