/** The workflows that the public suite runs, by id, and others that a test puts together. */
import type {
  WorkflowDefinition,
  WorkflowNode,
} from "../../src/modules/openwop/workflows/workflow.ts";

/** A node; what a test does not say is empty. */
export function node(id: string, typeId: string, more: Partial<WorkflowNode> = {}): WorkflowNode {
  return { id, typeId, name: id, position: { x: 0, y: 0 }, config: {}, inputs: {}, ...more };
}

/** A workflow whose nodes come one after the other. */
export function workflow(
  id: string,
  nodes: readonly WorkflowNode[],
  more: Partial<WorkflowDefinition> = {},
): WorkflowDefinition {
  const edges = nodes.slice(1).map((one, at) => ({
    ...{ id: `e${at}`, sourceNodeId: nodes[at]?.id ?? "", targetNodeId: one.id },
  }));
  const triggers = [{ id: "manual", type: "manual", enabled: true }];
  const definition = { id, name: id, version: "1.0", nodes, edges, variables: [] };
  return { ...definition, ...{ metadata: {}, settings: {}, triggers }, ...more };
}

const variable = (variableName: string) => ({ type: "variable", variableName }) as const;

const DELAYING: Partial<WorkflowDefinition> = {
  variables: [{ name: "delayMs", type: "number", required: true }],
};

const delaying = (id: string): WorkflowDefinition =>
  workflow(
    id,
    [node("wait", "core.delay", { inputs: { delayMs: variable("delayMs") } })],
    DELAYING,
  );

const pinned = (agentId: string) => ({ agent: { agentId, modelClass: "reasoning" } });

/** Those of the suite. */
export const FIXTURES: readonly WorkflowDefinition[] = [
  workflow("conformance-noop", [node("noop", "core.noop")]),
  workflow(
    "conformance-identity",
    [node("echo", "core.identity", { inputs: { payload: variable("payload") } })],
    { variables: [{ name: "payload", type: "object", required: true }] },
  ),
  delaying("conformance-delay"),
  delaying("conformance-cancellable"),
  workflow("conformance-idempotent", [node("noop", "core.noop")], {
    variables: [{ name: "nonce", type: "string", required: true }],
  }),
  workflow(
    "conformance-multi-node",
    ["a", "b", "c"].map((id) => node(id, "core.noop")),
  ),
  workflow("conformance-failure", [node("fail", "core.fail")]),
  workflow("conformance-capability-missing", [node("needs", "conformance.requiresMissing")]),
  workflow("conformance-agent-identity", [
    node("who", "core.identity", pinned("core.conformance.identity-agent")),
  ]),
  workflow("conformance-agent-pack-provenance", [
    node("who", "core.identity", {
      agent: {
        agentId: "core.conformance.packed",
        sourceManifestId: "core.conformance.packed",
      },
    }),
  ]),
  workflow("conformance-agent-reasoning", [
    node("reasoner", "core.conformance.mock-agent", {
      ...pinned("core.conformance.reasoning-agent"),
      config: {
        mockReasoning: { summary: "Considered three options; chose A." },
        mockToolCalls: [
          { toolId: "openwop:search", arguments: { q: "boats" }, result: ["hit"], durationMs: 12 },
          { toolId: "openwop:book", error: { error: "full", message: "no boat left" } },
        ],
        mockHandoff: { toAgentId: "core.conformance.other", reason: "not mine" },
        mockDecision: { decision: { next: "summarize" }, confidence: 0.92 },
      },
    }),
  ]),
  workflow("conformance-agent-reasoning-streaming", [
    node("reasoner", "core.conformance.mock-agent", {
      ...pinned("core.conformance.reasoning-agent"),
      config: { mockReasoning: { summary: "s", streamChunks: ["Let me ", "think. ", "Yes."] } },
    }),
  ]),
  workflow("conformance-agent-low-confidence", [
    node("decider", "core.conformance.mock-agent", {
      ...pinned("core.conformance.low-conf-decider"),
      config: { mockDecision: { decision: { kind: "book" }, confidence: 0.5 } },
    }),
    node("after", "core.noop"),
  ]),
];
