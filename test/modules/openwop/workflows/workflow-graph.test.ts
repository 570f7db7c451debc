/** The nodes before and after a node, in workflows of whatever form. */
import { describe, expect, it } from "vitest";
import type { WorkflowEdge } from "../../../../src/modules/openwop/workflows/workflow.ts";
import {
  nodesBefore,
  nodesFrom,
} from "../../../../src/modules/openwop/workflows/workflow-graph.ts";

function edge(from: number, to: number): WorkflowEdge {
  return { id: `${from}-${to}`, sourceNodeId: String(from), targetNodeId: String(to) };
}

interface Chain {
  readonly edges: readonly WorkflowEdge[];
  /** How often one end of an edge was read. */
  reads(): number;
}

function countedChain(length: number): Chain {
  let reads = 0;
  const counted = ({ id, sourceNodeId, targetNodeId }: WorkflowEdge): WorkflowEdge => ({
    id,
    get sourceNodeId() {
      reads += 1;
      return sourceNodeId;
    },
    get targetNodeId() {
      reads += 1;
      return targetNodeId;
    },
  });
  const edges = Array.from({ length }, (_, at) => counted(edge(at, at + 1)));
  return { edges, reads: () => reads };
}

describe("a graph", () => {
  const edges = [edge(1, 2), edge(2, 4), edge(1, 3), edge(3, 4), edge(5, 4)];
  const loop = { ...edge(4, 1), condition: { type: "equals", left: "a", right: 1 } } as const;

  it("has what comes after a node and the node itself, behind edges without a condition", () => {
    expect([...nodesFrom({ edges: [...edges, loop] }, "1")]).toEqual(["1", "2", "3", "4"]);
    expect([...nodesFrom({ edges: [...edges, loop] }, "4")]).toEqual(["4"]);
  });

  it("has what comes before a node, without the node itself", () => {
    expect([...nodesBefore({ edges: [...edges, loop] }, "4")]).toEqual(["2", "3", "5", "1"]);
    expect([...nodesBefore({ edges: [...edges, loop] }, "1")]).toEqual([]);
  });

  it("is followed in proportion to its edges", () => {
    const readsOf = (follow: (chain: Chain) => ReadonlySet<string>, length: number): number => {
      const chain = countedChain(length);
      expect(follow(chain).size).toBeGreaterThanOrEqual(length);
      return chain.reads();
    };
    const after = (chain: Chain) => nodesFrom(chain, "0");
    const before = (chain: Chain) => nodesBefore(chain, String(chain.edges.length));
    for (const follow of [after, before]) {
      expect(readsOf(follow, 2_000)).toBeLessThanOrEqual(2 * readsOf(follow, 1_000));
    }
  });
});
