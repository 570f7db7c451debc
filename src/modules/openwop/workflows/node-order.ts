/**
 * The order in which the nodes of a workflow are run: every node after those it has an edge from,
 * and among the ready ones as the definition lists them, so that two runs never differ.
 */
import { forwardEdges } from "./loops.ts";
import type { WorkflowDefinition, WorkflowNode } from "./workflow.ts";

type Graph = Pick<WorkflowDefinition, "nodes" | "edges">;

/** All nodes in order; undefined where the edges lead round in a circle. */
export function orderNodes({ nodes, ...graph }: Graph): readonly WorkflowNode[] | undefined {
  const edges = forwardEdges(graph);
  const waitsFor = new Map(nodes.map(({ id }) => [id, 0]));
  const followers = new Map<string, string[]>();
  for (const { sourceNodeId, targetNodeId } of edges) {
    waitsFor.set(targetNodeId, (waitsFor.get(targetNodeId) ?? 0) + 1);
    const known = followers.get(sourceNodeId);
    if (known === undefined) followers.set(sourceNodeId, [targetNodeId]);
    else known.push(targetNodeId);
  }
  const ordered: WorkflowNode[] = [];
  const left = new Set(nodes);
  while (left.size > 0) {
    const next = [...left].find(({ id }) => waitsFor.get(id) === 0);
    if (next === undefined) return undefined;
    left.delete(next);
    ordered.push(next);
    for (const id of followers.get(next.id) ?? []) waitsFor.set(id, (waitsFor.get(id) ?? 0) - 1);
  }
  return ordered;
}

/** The nodes that nothing comes after: what they put out is what the run puts out. */
export function lastNodes({ nodes, ...graph }: Graph): readonly WorkflowNode[] {
  const sources = new Set(forwardEdges(graph).map(({ sourceNodeId }) => sourceNodeId));
  return nodes.filter(({ id }) => !sources.has(id));
}

/** Everything that comes before a node, at any distance. */
export function nodesBefore(graph: Pick<Graph, "edges">, id: string): ReadonlySet<string> {
  const edges = forwardEdges(graph);
  const before = new Set<string>();
  const open = [id];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const { sourceNodeId, targetNodeId } of edges) {
      if (targetNodeId !== at || before.has(sourceNodeId)) continue;
      before.add(sourceNodeId);
      open.push(sourceNodeId);
    }
  }
  return before;
}
