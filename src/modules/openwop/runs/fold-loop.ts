/**
 * Loops, folded into where a run stands: where an edge leads back, what is done again has not been
 * done yet. How often that was is counted, and judged by whoever executes the run.
 */
import { maxIterations, nodesFrom, takenLoop } from "../workflows/loops.ts";
import type { WorkflowEdge } from "../workflows/workflow.ts";
import type { Run } from "./run.ts";
import type { RunState } from "./run-state.ts";

/** A loop that is to be taken once more than it may be. */
export interface LoopExcess {
  readonly nodeId: string;
  readonly limit: number;
  readonly observed: number;
}

/** After a node that is done, whose edges may lead back. */
export function afterNode(state: RunState, nodeId: string, { workflow }: Run): RunState {
  const edge = takenLoop(workflow, nodeId, state.nodes[nodeId]?.outputs ?? {});
  if (edge === undefined) return state;
  const again = nodesFrom(workflow, edge.targetNodeId);
  const nodes = Object.entries(state.nodes).filter(([id]) => !again.has(id));
  // A loop within this one begins to count anew.
  const inner = workflow.edges.filter(
    ({ id, condition, sourceNodeId }) =>
      condition !== undefined && id !== edge.id && again.has(sourceNodeId),
  );
  const dropped = new Set(inner.map(({ id }) => id));
  const loops = Object.entries(state.loops).filter(([id]) => !dropped.has(id));
  const taken = (state.loops[edge.id] ?? 0) + 1;
  return {
    ...{ ...state, nodes: Object.fromEntries(nodes) },
    loops: { ...Object.fromEntries(loops), [edge.id]: taken },
    backTo: { nodeId: edge.targetNodeId, round: (state.backTo?.round ?? 0) + 1 },
  };
}

/** The loop that goes on for too long, if there is one. */
export function findLoopExcess(
  { workflow, configurable }: Run,
  { loops }: RunState,
  ofHost: number,
): LoopExcess | undefined {
  const { maxLoopIterations: asked } = configurable;
  const ofRun = typeof asked === "number" ? asked : maxIterations(workflow);
  const limit = Math.min(ofRun, ofHost);
  const excess = workflow.edges.find(({ id }: WorkflowEdge) => (loops[id] ?? 0) > limit);
  if (excess === undefined) return undefined;
  return { nodeId: excess.sourceNodeId, limit, observed: loops[excess.id] ?? 0 };
}
