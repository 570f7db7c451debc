/**
 * The graph of a workflow. Nodes run after their predecessors and otherwise in the definition's order, so that runs are
 * reproducible; an edge with a condition is a loop that leads back.   OpenWOP "workflow-definition"
 */
import { isDeepStrictEqual } from "node:util";
import { type JsonRecord, valueAt } from "../../../base/json-value.ts";
import { addUnder } from "../../../base/listed.ts";
import type { EdgeCondition, WorkflowDefinition, WorkflowEdge, WorkflowNode } from "./workflow.ts";

type Graph = Pick<WorkflowDefinition, "nodes" | "edges">;

/** Sorts the nodes topologically; undefined if the edges form a cycle. */
export function orderNodes({ nodes, ...graph }: Graph): readonly WorkflowNode[] | undefined {
  const edges = forwardEdges(graph);
  const waitsFor = new Map(nodes.map(({ id }) => [id, 0]));
  for (const { targetNodeId } of edges) {
    waitsFor.set(targetNodeId, (waitsFor.get(targetNodeId) ?? 0) + 1);
  }
  const followers = nextNodes(edges, "sourceNodeId", "targetNodeId");
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

/** The nodes without successors: their outputs are the run's. */
export function lastNodes({ nodes, ...graph }: Graph): readonly WorkflowNode[] {
  const sources = new Set(forwardEdges(graph).map(({ sourceNodeId }) => sourceNodeId));
  return nodes.filter(({ id }) => !sources.has(id));
}

/** The default of the published schema. */
const DEFAULT_ITERATIONS = 5;

/** The edges that order the nodes. */
function forwardEdges({ edges }: Pick<Graph, "edges">): readonly WorkflowEdge[] {
  return edges.filter(({ condition }) => condition === undefined);
}

type NextNodes = ReadonlyMap<string, readonly string[]>;
type EdgeEnd = "sourceNodeId" | "targetNodeId";

/** Maps each node to its neighbours in one direction. */
function nextNodes(edges: readonly WorkflowEdge[], from: EdgeEnd, to: EdgeEnd): NextNodes {
  const next = new Map<string, string[]>();
  for (const edge of edges) addUnder(next, edge[from], edge[to]);
  return next;
}

/** The first loop edge whose condition the outputs satisfy. */
export function takenLoop(
  { edges }: Pick<Graph, "edges">,
  nodeId: string,
  outputs: JsonRecord,
): WorkflowEdge | undefined {
  return edges.find(
    ({ sourceNodeId, condition }) =>
      sourceNodeId === nodeId && condition !== undefined && holds(condition, outputs),
  );
}

/** A node and all its descendants. */
export function nodesFrom(graph: Pick<Graph, "edges">, id: string): ReadonlySet<string> {
  return reachedFrom(id, nextNodes(forwardEdges(graph), "sourceNodeId", "targetNodeId"));
}

/** Returns the ancestors of a node. */
export function nodesBefore(graph: Pick<Graph, "edges">, id: string): ReadonlySet<string> {
  const before = reachedFrom(id, nextNodes(forwardEdges(graph), "targetNodeId", "sourceNodeId"));
  return new Set([...before].slice(1));
}

function reachedFrom(id: string, next: NextNodes): ReadonlySet<string> {
  const found = new Set([id]);
  // Iterating over a Set includes entries added meanwhile.
  for (const at of found) for (const one of next.get(at) ?? []) found.add(one);
  return found;
}

/** The maximum of loop iterations that a workflow asks for. */
export function maxIterations({ settings }: Pick<WorkflowDefinition, "settings">): number {
  const { maxLoopbackIterations: asked } = settings;
  return typeof asked === "number" ? asked : DEFAULT_ITERATIONS;
}

function holds({ type, left, right }: EdgeCondition, outputs: JsonRecord): boolean {
  const value = outputAt(outputs, left);
  switch (type) {
    case "equals":
      return isDeepStrictEqual(value, right);
    case "notEquals":
      return !isDeepStrictEqual(value, right);
    case "contains":
      if (typeof value === "string") return typeof right === "string" && value.includes(right);
      return Array.isArray(value) && value.some((one) => isDeepStrictEqual(one, right));
  }
}

/** Reads a path of names; a leading `output.` is ignored. */
function outputAt(outputs: JsonRecord, left: string): unknown {
  return valueAt(outputs, left.replace(/^outputs?\./, "").split("."));
}
