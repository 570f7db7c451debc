/**
 * A workflow as a graph. Nodes are run after those they have an edge from, and among the ready ones as the
 * definition lists them, so that two runs never differ; an edge with a condition leads back, and is a loop.
 * OpenWOP "workflow-definition"
 */
import { isDeepStrictEqual } from "node:util";
import { type JsonRecord, valueAt } from "../../../base/json-value.ts";
import { addUnder } from "../../../base/listed.ts";
import type { EdgeCondition, WorkflowDefinition, WorkflowEdge, WorkflowNode } from "./workflow.ts";

type Graph = Pick<WorkflowDefinition, "nodes" | "edges">;

/** All nodes in order; undefined where the edges lead round in a circle. */
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

/** The nodes that nothing comes after: what they put out is what the run puts out. */
export function lastNodes({ nodes, ...graph }: Graph): readonly WorkflowNode[] {
  const sources = new Set(forwardEdges(graph).map(({ sourceNodeId }) => sourceNodeId));
  return nodes.filter(({ id }) => !sources.has(id));
}

/** As the published schema has it. */
const DEFAULT_ITERATIONS = 5;

/** The edges that order the nodes. */
function forwardEdges({ edges }: Pick<Graph, "edges">): readonly WorkflowEdge[] {
  return edges.filter(({ condition }) => condition === undefined);
}

type NextNodes = ReadonlyMap<string, readonly string[]>;
type EdgeEnd = "sourceNodeId" | "targetNodeId";

/** The nodes that edges lead to from each node, in one direction. */
function nextNodes(edges: readonly WorkflowEdge[], from: EdgeEnd, to: EdgeEnd): NextNodes {
  const next = new Map<string, string[]>();
  for (const edge of edges) addUnder(next, edge[from], edge[to]);
  return next;
}

/** The first edge that leads back from a node that has put this out. */
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

/** A node, and everything that comes after it at any distance. */
export function nodesFrom(graph: Pick<Graph, "edges">, id: string): ReadonlySet<string> {
  return reachedFrom(id, nextNodes(forwardEdges(graph), "sourceNodeId", "targetNodeId"));
}

/** Everything that comes before a node at any distance. */
export function nodesBefore(graph: Pick<Graph, "edges">, id: string): ReadonlySet<string> {
  const before = reachedFrom(id, nextNodes(forwardEdges(graph), "targetNodeId", "sourceNodeId"));
  return new Set([...before].slice(1));
}

function reachedFrom(id: string, next: NextNodes): ReadonlySet<string> {
  const found = new Set([id]);
  // A set is walked with what is added on the way.
  for (const at of found) for (const one of next.get(at) ?? []) found.add(one);
  return found;
}

/** The most times that a workflow wants a loop to be taken. */
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

/** A path of names; `output.` in front of it stands for nothing. */
function outputAt(outputs: JsonRecord, left: string): unknown {
  return valueAt(outputs, left.replace(/^outputs?\./, "").split("."));
}
