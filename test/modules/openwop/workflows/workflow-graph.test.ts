/** The nodes before and after a node, in workflows of whatever form. */
import { describe, expect, it } from "vitest";
import type { WorkflowEdge } from "../../../../src/modules/openwop/workflows/workflow.ts";
import {
  nodesBefore,
  nodesFrom,
} from "../../../../src/modules/openwop/workflows/workflow-graph.ts";
import { growthOf, NEARLY_LINEAR } from "../../../support/growth.ts";

function edge(from: number, to: number): WorkflowEdge {
  return { id: `${from}-${to}`, sourceNodeId: String(from), targetNodeId: String(to) };
}

function chain(length: number): { readonly edges: readonly WorkflowEdge[] } {
  return { edges: Array.from({ length }, (_, at) => edge(at, at + 1)) };
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

  it("is followed in proportion to its edges", async () => {
    const after = (size: number): unknown => nodesFrom(chain(size), "0");
    expect(await growthOf(after, 2_000)).toBeLessThan(NEARLY_LINEAR);
    const before = (size: number): unknown => nodesBefore(chain(size), String(size));
    expect(await growthOf(before, 2_000)).toBeLessThan(NEARLY_LINEAR);
  });
});
