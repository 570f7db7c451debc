/**
 * Checks of a workflow beyond its schema: unique names, edges and inputs that refer to existing earlier nodes, and
 * known node types.
 */

import { joinKey } from "../../../base/dotted-key.ts";
import { quoteValue } from "../../../base/json-value.ts";
import type { Paced } from "../../../base/paced.ts";
import type { NodeTypes } from "../nodes/node-type.ts";
import type { PortValue, WorkflowDefinition, WorkflowEdge, WorkflowNode } from "./workflow.ts";
import { nodesBefore, nodesFrom, orderNodes } from "./workflow-graph.ts";

/** A fault of a definition. */
export interface WorkflowFault {
  /** A dotted path, as in problems. */
  readonly key: string;
  readonly message: string;
}

/** RFC 0082 §A: a host without channel deployments refuses pins of a channel. */
export const NO_CHANNELS =
  "names a deployment channel, and this server has none: pin a version, or nothing";

/** Returns all faults of a definition that satisfies the schema. */
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

/** A loop edge must lead back: edges with a condition do not order nodes. */
function checkLoop(
  definition: WorkflowDefinition,
  { sourceNodeId, targetNodeId, condition }: WorkflowEdge,
  key: string,
): readonly WorkflowFault[] {
  if (condition === undefined) return [];
  if (nodesFrom(definition, targetNodeId).has(sourceNodeId)) return [];
  const message = `has a condition, and leads forward to ${quoteValue(targetNodeId)}: only one that leads back may`;
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
      ? [
          {
            key: `${key}.typeId`,
            message: `${quoteValue(node.typeId)} is no node type of this server`,
          },
        ]
      : faults.map((fault) => ({ ...fault, key: `${key}.${fault.key}` }))),
    ...(node.agent?.channel === undefined
      ? []
      : [{ key: `${key}.agent.channel`, message: NO_CHANNELS }]),
    ...Object.entries(node.inputs).flatMap(([name, port]) =>
      checkPort(definition, port, before, joinKey(`${key}.inputs`, name)),
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
    const message = `${quoteValue(variableName)} is no variable of the workflow`;
    return [{ key: `${key}.variableName`, message }];
  }
  if (port.type === "connection" && !before.has(port.nodeId)) {
    const message = `${quoteValue(port.nodeId)} is no node that comes before, expected one with an edge here`;
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
      : [{ key: `${list}[${at}].${member}`, message: `${quoteValue(name)} is there already` }],
  );
}

function findUnknown(ids: ReadonlySet<string>, id: string, key: string): readonly WorkflowFault[] {
  return ids.has(id) ? [] : [{ key, message: `${quoteValue(id)} is no node of the workflow` }];
}

/** A fault in a workflow's reference to another. */
interface DanglingFault {
  readonly workflowId: string;
  readonly key: string;
  readonly message: string;
}

type Definitions = ReadonlyMap<string, { readonly definition: WorkflowDefinition }>;

/** The type of a node that starts another workflow. */
export const SUB_WORKFLOW = "core.subWorkflow";
/** Generated workflows of agents, whose installation is checked elsewhere. */
const OF_AGENT = /^agent-/;

/** A node that starts another workflow. */
interface Link {
  readonly from: WorkflowDefinition;
  /** The index of the node. */
  readonly at: number;
  readonly child: string;
}

/**
 * Returns the faults of links between workflows in linear time: first links that are wrong in themselves, then,
 * transitively, links to workflows dropped for that.
 */
export function* findingDangling(workflows: Definitions): Paced<readonly DanglingFault[]> {
  const links = yield* listingLinks(workflows);
  const circles = circlesOf(workflows, links);
  const faults: DanglingFault[] = [];
  const dropped = new Set<string>();
  const drop = ({ from, at }: Link, message: string): void => {
    faults.push({ workflowId: from.id, key: `nodes[${at}].config.workflowId`, message });
    dropped.add(from.id);
  };
  const leading = new Map<string, Link[]>();
  for (const link of links) {
    yield;
    const message = faultOf(link, workflows, circles);
    if (message !== undefined) drop(link, message);
    else if (!OF_AGENT.test(link.child)) {
      const others = leading.get(link.child);
      if (others === undefined) leading.set(link.child, [link]);
      else others.push(link);
    }
  }
  // Iterating over a Set includes entries added meanwhile.
  for (const gone of dropped) {
    for (const link of leading.get(gone) ?? []) drop(link, missing(gone));
    yield;
  }
  return faults;
}

function* listingLinks(workflows: Definitions): Paced<readonly Link[]> {
  const links: Link[] = [];
  for (const { definition: from } of workflows.values()) {
    yield;
    for (const [at, { typeId, config }] of from.nodes.entries()) {
      if (typeId === SUB_WORKFLOW) links.push({ from, at, child: String(config["workflowId"]) });
    }
  }
  return links;
}

function faultOf(
  { from: { id, tenantId }, child }: Link,
  workflows: Definitions,
  circles: ReadonlyMap<string, number>,
): string | undefined {
  const found = workflows.get(child)?.definition;
  if (found === undefined) return OF_AGENT.test(child) ? undefined : missing(child);
  if (found.tenantId !== undefined && found.tenantId !== tenantId) {
    return `${quoteValue(child)} is another tenant's workflow`;
  }
  const isBack = circles.get(child) === circles.get(id);
  return isBack ? `${quoteValue(child)} leads back to this workflow` : undefined;
}

function missing(child: string): string {
  return `${quoteValue(child)} is no workflow of this server`;
}

/** Numbers the strongly connected components, by workflow.   Tarjan 1972 */
function circlesOf(workflows: Definitions, links: readonly Link[]): ReadonlyMap<string, number> {
  const children = new Map(Array.from(workflows.keys(), (id) => [id, new Set<string>()]));
  for (const { from, child } of links) if (workflows.has(child)) children.get(from.id)?.add(child);
  const circles = new Map<string, number>();
  const numbers = new Map<string, number>();
  const way: string[] = [];
  // The recursion is at most as deep as there are workflows, of which a server has a thousand.
  const visit = (id: string): number => {
    const own = numbers.size;
    let lowest = own;
    numbers.set(id, own);
    way.push(id);
    for (const child of children.get(id) ?? []) {
      if (circles.has(child)) continue;
      lowest = Math.min(lowest, numbers.get(child) ?? visit(child));
    }
    if (lowest === own) {
      for (const one of way.splice(way.lastIndexOf(id))) circles.set(one, own);
    }
    return lowest;
  };
  for (const id of workflows.keys()) if (!numbers.has(id)) visit(id);
  return circles;
}
