/**
 * Rules that no schema can tell a workflow: that names are used once, that edges and inputs lead to
 * something that is there and comes before, and that every node is of a type this server runs. Nodes
 * are run after those they have an edge from, and among the ready ones as the definition lists them,
 * so that two runs never differ.
 */

import { isDeepStrictEqual } from "node:util";
import { type JsonRecord, valueAt } from "../../../base/json-value.ts";
import { addUnder } from "../../../base/listed.ts";
import type { Paced } from "../../../base/paced.ts";
import type { NodeTypes } from "../nodes/node-type.ts";
import type {
  EdgeCondition,
  PortValue,
  WorkflowDefinition,
  WorkflowEdge,
  WorkflowNode,
} from "./workflow.ts";

type Graph = Pick<WorkflowDefinition, "nodes" | "edges">;

/** All nodes in order; undefined where the edges lead round in a circle. */
export function orderNodes({ nodes, ...graph }: Graph): readonly WorkflowNode[] | undefined {
  const edges = forwardEdges(graph);
  const waitsFor = new Map(nodes.map(({ id }) => [id, 0]));
  const followers = new Map<string, string[]>();
  for (const { sourceNodeId, targetNodeId } of edges) {
    waitsFor.set(targetNodeId, (waitsFor.get(targetNodeId) ?? 0) + 1);
    addUnder(followers, sourceNodeId, targetNodeId);
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

/** As the published schema has it. */
const DEFAULT_ITERATIONS = 5;

/** The edges that order the nodes. */
function forwardEdges({ edges }: Pick<Graph, "edges">): readonly WorkflowEdge[] {
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

/** Everything that comes before a node at any distance. */
function nodesBefore({ edges }: Pick<Graph, "edges">, id: string): ReadonlySet<string> {
  const turned = edges.map((edge) => {
    const { sourceNodeId, targetNodeId } = edge;
    return { ...edge, sourceNodeId: targetNodeId, targetNodeId: sourceNodeId };
  });
  const [, ...before] = nodesFrom({ edges: turned }, id);
  return new Set(before);
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

/** Something that is wrong with a definition. */
export interface WorkflowFault {
  /** Dotted, as problems have it. */
  readonly key: string;
  readonly message: string;
}

/** RFC 0082 §A: who deploys nothing on channels refuses whoever names one. */
export const NO_CHANNELS =
  "names a deployment channel, and this server has none: pin a version, or nothing";

/** Everything that is wrong with a definition of the right shape. */
export function checkWorkflow(
  definition: WorkflowDefinition,
  types: NodeTypes,
): readonly WorkflowFault[] {
  const { nodes, edges, variables } = definition;
  const ids = new Set(nodes.map(({ id }) => id));
  return [
    ...findRepeated("nodes", "id", nodes),
    ...findRepeated("edges", "id", edges),
    ...findRepeated("variables", "name", variables),
    ...edges.flatMap(({ sourceNodeId, targetNodeId }, at) => [
      ...findUnknown(ids, sourceNodeId, `edges[${at}].sourceNodeId`),
      ...findUnknown(ids, targetNodeId, `edges[${at}].targetNodeId`),
    ]),
    ...edges.flatMap((edge, at) => checkLoop(definition, edge, `edges[${at}]`)),
    ...(orderNodes(definition) === undefined
      ? [{ key: "edges", message: "lead round in a circle: one that leads back has a condition" }]
      : nodes.flatMap((node, at) => checkNode(definition, node, types, `nodes[${at}]`))),
  ];
}

/** A node that is done again has been done before; one behind a condition is not followed. */
function checkLoop(
  definition: WorkflowDefinition,
  { sourceNodeId, targetNodeId, condition }: WorkflowEdge,
  key: string,
): readonly WorkflowFault[] {
  const leadsBack = nodesFrom(definition, targetNodeId).has(sourceNodeId);
  if (condition === undefined || leadsBack) return [];
  const message = `has a condition, and leads forward to "${targetNodeId}": only one that leads back may`;
  return [{ key: `${key}.condition`, message }];
}

function checkNode(
  definition: WorkflowDefinition,
  node: WorkflowNode,
  types: NodeTypes,
  key: string,
): readonly WorkflowFault[] {
  const type = types.get(node.typeId);
  const faults = type?.checkNode?.(node) ?? [];
  const before = nodesBefore(definition, node.id);
  return [
    ...(type === undefined
      ? [{ key: `${key}.typeId`, message: `"${node.typeId}" is no node type of this server` }]
      : faults.map((fault) => ({ ...fault, key: `${key}.${fault.key}` }))),
    ...(node.agent?.channel === undefined
      ? []
      : [{ key: `${key}.agent.channel`, message: NO_CHANNELS }]),
    ...Object.entries(node.inputs).flatMap(([name, port]) =>
      checkPort(definition, port, before, `${key}.inputs.${name}`),
    ),
  ];
}

function checkPort(
  { variables, nodes }: WorkflowDefinition,
  port: PortValue,
  before: ReadonlySet<string>,
  key: string,
): readonly WorkflowFault[] {
  if (port.type === "variable" && port.optional !== true) {
    const { variableName } = port;
    if (variables.some(({ name }) => name === variableName)) return [];
    if (nodes.some(({ config }) => config["channelName"] === variableName)) return [];
    const message = `"${variableName}" is no variable of the workflow`;
    return [{ key: `${key}.variableName`, message }];
  }
  if (port.type === "connection" && !before.has(port.nodeId)) {
    const message = `"${port.nodeId}" is no node that comes before, expected one with an edge here`;
    return [{ key: `${key}.nodeId`, message }];
  }
  return [];
}

function findRepeated<Member extends string>(
  list: string,
  member: Member,
  items: readonly Readonly<Record<Member, string>>[],
): readonly WorkflowFault[] {
  const names = items.map((item) => item[member]);
  return names.flatMap((name, at) =>
    names.indexOf(name) === at
      ? []
      : [{ key: `${list}[${at}].${member}`, message: `"${name}" is there already` }],
  );
}

function findUnknown(ids: ReadonlySet<string>, id: string, key: string): readonly WorkflowFault[] {
  return ids.has(id) ? [] : [{ key, message: `"${id}" is no node of the workflow` }];
}

/** Something that is wrong with what a workflow leads to. */
interface DanglingFault {
  readonly workflowId: string;
  readonly key: string;
  readonly message: string;
}

type Definitions = ReadonlyMap<string, { readonly definition: WorkflowDefinition }>;

/** The type of a node that begins a run of another workflow. */
export const SUB_WORKFLOW = "core.subWorkflow";
/** Generated for agents, which are checked where they are installed. */
const OF_AGENT = /^agent-/;

/** Everything that is wrong, for each workflow, a node that leads to another one a step. */
export function* findingDangling(workflows: Definitions): Paced<readonly DanglingFault[]> {
  const faults: DanglingFault[] = [];
  for (const { definition } of workflows.values()) {
    for (const [at, { typeId, config }] of definition.nodes.entries()) {
      if (typeId !== SUB_WORKFLOW) continue;
      yield;
      const message = faultOf(definition, String(config["workflowId"]), workflows);
      const key = `nodes[${at}].config.workflowId`;
      if (message !== undefined) faults.push({ workflowId: definition.id, key, message });
    }
  }
  return faults;
}

function faultOf(
  { id, tenantId }: WorkflowDefinition,
  child: string,
  workflows: Definitions,
): string | undefined {
  const found = workflows.get(child)?.definition;
  if (found === undefined) {
    return OF_AGENT.test(child) ? undefined : `"${child}" is no workflow of this server`;
  }
  if (found.tenantId !== undefined && found.tenantId !== tenantId) {
    return `"${child}" is another tenant's workflow`;
  }
  return leadsTo(child, id, workflows) ? `"${child}" leads back to this workflow` : undefined;
}

function leadsTo(from: string, to: string, workflows: Definitions): boolean {
  const seen = new Set([from]);
  // A set is walked with what is added on the way.
  for (const at of seen) {
    if (at === to) return true;
    for (const { typeId, config } of workflows.get(at)?.definition.nodes ?? []) {
      if (typeId === SUB_WORKFLOW) seen.add(String(config["workflowId"]));
    }
  }
  return false;
}
