/** Checks workflows that lead to others: every one that is named is there, and none leads to itself. */
import type { Paced } from "../../../base/paced.ts";
import type { WorkflowDefinition } from "./workflow.ts";

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
