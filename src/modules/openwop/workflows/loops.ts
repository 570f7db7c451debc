/**
 * Loops: an edge with a condition leads back to a node that comes before. Where the condition holds of
 * what its source put out, that node and all that comes after it is done again.
 * OpenWOP "workflow-definition" EdgeCondition, maxLoopbackIterations
 */
import { isDeepStrictEqual } from "node:util";
import { type JsonRecord, valueAt } from "../../../base/json-value.ts";
import type { EdgeCondition, WorkflowDefinition, WorkflowEdge } from "./workflow.ts";

type Graph = Pick<WorkflowDefinition, "nodes" | "edges">;

/** As the published schema has it. */
const DEFAULT_ITERATIONS = 5;

/** The edges that order the nodes. */
export function forwardEdges({ edges }: Pick<Graph, "edges">): readonly WorkflowEdge[] {
  return edges.filter(({ condition }) => condition === undefined);
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
  const found = new Set([id]);
  const edges = forwardEdges(graph);
  // A set is walked with what is added on the way.
  for (const at of found) {
    for (const { sourceNodeId, targetNodeId } of edges) {
      if (sourceNodeId === at) found.add(targetNodeId);
    }
  }
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
