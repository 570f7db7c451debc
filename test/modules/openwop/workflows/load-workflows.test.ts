/** Definitions on disk: which are served, and what is said of the others. */
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../../../src/base/problem.ts";
import { nodeTypes } from "../../../../src/modules/openwop/nodes/known-nodes.ts";
import { findingDangling } from "../../../../src/modules/openwop/workflows/check-workflow.ts";
import { loadWorkflows } from "../../../../src/modules/openwop/workflows/load-workflows.ts";
import type { WorkflowDefinition } from "../../../../src/modules/openwop/workflows/workflow.ts";
import { createSchemaCompiler } from "../../../../src/schema/schema.ts";
import { makeDirectory, writeFiles } from "../../../support/directory.ts";
import { NOBODY } from "../../../support/openwop-runs.ts";
import { FIXTURES, node, workflow } from "../../../support/openwop-workflows.ts";

function load(files: Readonly<Record<string, object | string>>, isConformance = true) {
  const directory = makeDirectory();
  const texts = Object.entries(files).map(([name, content]) => [
    `agents/openwop/workflows/${name}.json`,
    typeof content === "string" ? content : JSON.stringify(content),
  ]);
  writeFiles(directory, Object.fromEntries(texts));
  const compiler = createSchemaCompiler();
  const types = nodeTypes({
    ...{ executor: NOBODY, compiler, isConformance },
    effects: { record: () => Promise.reject(new Error("nothing is done")) },
    mockAgent: {
      reasoning: { verbosity: "summary", tokenLimit: 512 },
      thresholdOf: () => undefined,
    },
  });
  const { workflows, problems } = loadWorkflows({
    ...{ directory, dir: "agents/openwop/workflows", types, compiler },
  });
  return { ids: [...workflows.keys()], problems: problems.map(formatProblem), workflows };
}

const HOLDS = { type: "equals", left: "status", right: "again" };
const ok = workflow("ok", [node("a", "core.noop")]);

function change(more: object): object {
  return { ...ok, id: "bad", ...more };
}

describe("loadWorkflows", () => {
  it("takes the suite's definitions as they are", () => {
    const files = Object.fromEntries(FIXTURES.map((one) => [one.id, one]));
    const { ids, problems, workflows } = load(files);
    expect(problems).toEqual([]);
    expect(ids.toSorted()).toEqual(FIXTURES.map(({ id }) => id).toSorted());
    expect(workflows.get("conformance-noop")?.definition).toEqual(FIXTURES[0]);
  });

  it("knows the suite's nodes only where conformance is asked for", () => {
    const files = Object.fromEntries(FIXTURES.map((one) => [one.id, one]));
    const { problems } = load(files, false);
    expect(problems).toHaveLength(4);
    for (const problem of problems) expect(problem).toContain("is no node type of this server");
  });

  it("says nothing of a directory that is not there", () => {
    expect(load({}).problems).toEqual([]);
  });

  it.each<readonly [string, object | string, string]>([
    ["what is no JSON", "{", "must be JSON"],
    ["a member that nobody knows", change({ surprise: 1 }), "surprise"],
    ["a bad id", change({ id: "Bad Id" }), "id"],
    ["no nodes", change({ nodes: [] }), "nodes"],
    ["an unknown type", change({ nodes: [node("a", "core.ai.callPrompt")] }), "nodes[0].typeId"],
    [
      "a node twice",
      change({ nodes: [node("a", "core.noop"), node("a", "core.noop")] }),
      'nodes[1].id: "a" is there already',
    ],
    [
      "an edge to nowhere",
      change({ edges: [{ id: "e", sourceNodeId: "a", targetNodeId: "b" }] }),
      'edges[0].targetNodeId: "b" is no node',
    ],
    [
      "a circle",
      change({ edges: [{ id: "e", sourceNodeId: "a", targetNodeId: "a" }] }),
      "edges: lead round in a circle",
    ],
    [
      "an input from nowhere",
      change({
        nodes: [
          node("a", "core.identity", {
            inputs: { x: { type: "connection", nodeId: "z", outputKey: "y" } },
          }),
        ],
      }),
      "nodes[0].inputs.x.nodeId",
    ],
    [
      "an unknown variable",
      change({
        nodes: [
          node("a", "core.identity", { inputs: { x: { type: "variable", variableName: "z" } } }),
        ],
      }),
      'nodes[0].inputs.x.variableName: "z" is no variable',
    ],
    [
      "an unknown variable by a name that would take over a terminal",
      change({
        nodes: [
          node("a", "core.identity", {
            inputs: { "x\u001b[2J": { type: "variable", variableName: "z\u001b[2J" } },
          }),
        ],
      }),
      String.raw`nodes[0].inputs."x\u001b[2J".variableName: "z\u001b[2J" is no variable`,
    ],
    [
      "an expression, which nobody evaluates",
      change({
        nodes: [
          { ...node("a", "core.noop"), inputs: { x: { type: "expression", expression: "1" } } },
        ],
      }),
      "nodes[0].inputs.x",
    ],
    [
      "a condition that leads forward, which nobody follows",
      change({
        nodes: [node("a", "core.noop"), node("b", "core.noop")],
        edges: [{ id: "e", sourceNodeId: "a", targetNodeId: "b", condition: HOLDS }],
      }),
      'edges[0].condition: has a condition, and leads forward to "b"',
    ],
    [
      "an expression as a condition, which nobody evaluates",
      change({
        edges: [
          {
            ...{ id: "e", sourceNodeId: "a", targetNodeId: "a" },
            condition: { ...HOLDS, type: "expression", expression: "1" },
          },
        ],
      }),
      "edges[0].condition",
    ],
    [
      "a gate that nobody can let anything through",
      change({ nodes: [node("a", "core.approvalGate", { config: { actions: ["reject"] } })] }),
      "nodes[0].config.actions",
    ],
    [
      "a gate that asks whom nobody here knows",
      change({
        nodes: [node("a", "core.approvalGate", { config: { approverRoleRefs: ["boss"] } })],
      }),
      "nodes[0].config.approverRoleRefs",
    ],
    [
      "no question",
      change({ nodes: [node("a", "core.clarificationGate", { config: { questions: [] } })] }),
      "nodes[0].config.questions",
    ],
    [
      "a question twice",
      change({
        nodes: [
          node("a", "core.clarificationGate", {
            config: { questions: [1, 2].map(() => ({ id: "q", question: "?" })) },
          }),
        ],
      }),
      'nodes[0].config.questions[1].id: "q" is there already',
    ],
    [
      "a question whose schema does not compile",
      change({
        nodes: [
          node("a", "core.clarificationGate", {
            config: { question: "?", schema: { type: "nothing" } },
          }),
        ],
      }),
      "nodes[0].config.questions[0].schema",
    ],
    [
      "a write to no channel",
      change({ nodes: [node("a", "core.channelWrite", { config: { value: 1 } })] }),
      "nodes[0].config.channelName",
    ],
    [
      "a reducer that nobody knows",
      change({
        nodes: [
          node("a", "core.channelWrite", { config: { channelName: "c", reducer: "vendor.x.y" } }),
        ],
      }),
      "nodes[0].config.reducer",
    ],
    [
      "a sub-workflow that is not there",
      change({
        nodes: [node("a", "core.subWorkflow", { config: { workflowId: "elsewhere" } })],
      }),
      'nodes[0].config.workflowId: "elsewhere" is no workflow of this server',
    ],
    [
      "a sub-workflow that nobody waits for",
      change({
        nodes: [
          node("a", "core.subWorkflow", {
            config: { workflowId: "ok", waitForCompletion: false },
          }),
        ],
      }),
      "nodes[0].config.waitForCompletion",
    ],
    [
      "a schedule, which nobody keeps",
      change({ triggers: [{ id: "t", type: "schedule" }] }),
      "triggers[0].type",
    ],
    [
      "a secret that would be kept",
      change({ variables: [{ name: "s", type: "string", sensitive: true }] }),
      "variables[0].sensitive",
    ],
    ["channels, which nobody folds", change({ channels: {} }), "channels"],
    [
      "an agent on a channel",
      change({ nodes: [{ ...node("a", "core.noop"), agent: { agentId: "a.b", channel: "x" } }] }),
      "nodes[0].agent.channel: names a deployment channel, and this server has none",
    ],
    [
      "an agent on a channel and of a version",
      change({
        nodes: [
          { ...node("a", "core.noop"), agent: { agentId: "a.b", channel: "x", version: "1" } },
        ],
      }),
      "nodes[0].agent: ",
    ],
    [
      "an agent node without an agent",
      change({ nodes: [node("a", "core.agent")] }),
      "nodes[0].agent",
    ],
    [
      "a mock agent that is told something else",
      change({ nodes: [node("a", "core.conformance.mock-agent", { config: { mock: 1 } })] }),
      "nodes[0].config",
    ],
    [
      "a mock call without an outcome",
      change({
        nodes: [
          node("a", "core.conformance.mock-agent", {
            config: { mockToolCalls: [{ toolId: "x" }] },
          }),
        ],
      }),
      "nodes[0].config",
    ],
    [
      "a schema that does not compile",
      change({ configurableSchema: { type: "nothing" } }),
      "configurableSchema",
    ],
  ])("does not serve one with %s, and serves the others", (_, bad, message) => {
    const { ids, problems } = load({ bad, ok });
    expect(ids).toEqual(["ok"]);
    expect(problems[0]).toContain("agents/openwop/workflows/bad.json");
    expect(problems[0]).toContain(message);
  });

  it("serves no workflow that leads to itself through others, nor any that needs one", () => {
    const calls = (id: string, workflowId: string) =>
      workflow(id, [node("call", "core.subWorkflow", { config: { workflowId } })]);
    const files = { ok, a: calls("a", "b"), b: calls("b", "a"), c: calls("c", "a") };
    const { ids, problems } = load({ ...files, d: calls("d", "ok") });
    expect(ids.toSorted()).toEqual(["d", "ok"]);
    expect(problems.toSorted()).toEqual([
      'agents/openwop/workflows/a.json: nodes[0].config.workflowId: "b" leads back to this workflow',
      'agents/openwop/workflows/b.json: nodes[0].config.workflowId: "a" leads back to this workflow',
      'agents/openwop/workflows/c.json: nodes[0].config.workflowId: "a" is no workflow of this server',
    ]);
  });

  it("tells of a workflow's every link to one that is not served", () => {
    const calls = (id: string, ...ids: readonly string[]) =>
      workflow(
        id,
        ids.map((workflowId, at) => node(`n${at}`, "core.subWorkflow", { config: { workflowId } })),
      );
    const files = { a: calls("a", "b", "c", "ok"), b: calls("b", "gone"), c: calls("c", "b") };
    const { ids, problems } = load({ ...files, ok });
    expect(ids).toEqual(["ok"]);
    const at = (file: string, place: number) =>
      `agents/openwop/workflows/${file}.json: nodes[${place}].config.workflowId:`;
    expect(problems.toSorted()).toEqual([
      `${at("a", 0)} "b" is no workflow of this server`,
      `${at("a", 1)} "c" is no workflow of this server`,
      `${at("b", 0)} "gone" is no workflow of this server`,
      `${at("c", 0)} "b" is no workflow of this server`,
    ]);
  });

  it("looks at each link of a long row of workflows once, whose last leads to nothing", () => {
    const ids = Array.from({ length: 1_000 }, (_, at) => `w${at}`);
    const row = ids.map((id, at) => {
      const config = { workflowId: `w${at + 1}` };
      return [
        id,
        { definition: workflow(id, [node("call", "core.subWorkflow", { config })]) },
      ] as const;
    });
    const finding = findingDangling(new Map(row));
    let steps = 0;
    let step = finding.next();
    for (; step.done !== true; step = finding.next()) steps += 1;
    expect(step.value).toHaveLength(ids.length);
    expect(steps).toBeLessThanOrEqual(3 * ids.length);
  });

  it("serves what leads back under a condition, and what reads a channel", () => {
    const nodes = [
      node("a", "core.channelWrite", { config: { channelName: "sum", reducer: "counter" } }),
      node("b", "core.identity", { inputs: { sum: { type: "variable", variableName: "sum" } } }),
    ];
    const flow = workflow("loops", nodes);
    const loop = { id: "l", sourceNodeId: "b", targetNodeId: "a", condition: HOLDS };
    const { problems } = load({ loops: { ...flow, edges: [...flow.edges, loop] } });
    expect(problems).toEqual([]);
  });

  it("serves the first of two with one id", () => {
    const { ids, problems } = load({ a: ok, b: { ...ok, name: "other" } });
    expect(ids).toEqual(["ok"]);
    expect(problems).toEqual([
      'agents/openwop/workflows/b.json: id: "ok" is another workflow\'s already',
    ]);
  });

  it("takes what is said of how a variable is shown, known or not, and keeps it", () => {
    const variables = ["email", "vendor.acme.ipv4-or-hostname"].map((format, index) => ({
      ...{ name: `v${index}`, type: "string", format, defaultValue: "neither" },
    }));
    const { ids, problems, workflows } = load({ hinted: { ...ok, variables } });
    expect({ ids, problems }).toEqual({ ids: ["ok"], problems: [] });
    expect(workflows.get("ok")?.definition.variables).toEqual(variables);
  });

  it("compiles what a workflow says of its options", () => {
    const configurableSchema = {
      type: "object",
      properties: { temperature: { maximum: 1 } },
      additionalProperties: false,
    };
    const picky: WorkflowDefinition = { ...ok, configurableSchema };
    const { workflows } = load({ picky });
    const compiled = workflows.get("ok")?.configurable;
    expect(compiled?.check({ temperature: 1.5 })).toBeDefined();
    expect(compiled?.check({ temperature: 0.5 })).toBeUndefined();
  });
});
