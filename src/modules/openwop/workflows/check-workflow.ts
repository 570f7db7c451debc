/**
 * Rules that no schema can tell a workflow: that names are used once, that edges and inputs lead to
 * something that is there and comes before, and that every node is of a type this server runs.
 */

import type { Paced } from "../../../base/paced.ts";
import type { NodeTypes } from "../nodes/node-type.ts";
import type { PortValue, WorkflowDefinition, WorkflowEdge, WorkflowNode } from "./workflow.ts";
import { nodesBefore, nodesFrom, orderNodes } from "./workflow-graph.ts";

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
  if (condition === undefined) return [];
  if (nodesFrom(definition, targetNodeId).has(sourceNodeId)) return [];
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
