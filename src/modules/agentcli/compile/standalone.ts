/** Compiles to a portable plan, bound to no runtime.   agentcli spec "standalone" */
import type { Manifest, Workflow } from "../manifest/manifest.ts";
import { expandWorkflows } from "./expand.ts";
import type { Compiled } from "./targets.ts";
import { planTask, type TaskPlan } from "./task-plan.ts";

const CAPABILITIES = {
  authoring: true,
  planning: true,
  runtime_execution: false,
  rpc: true,
  model_policy: true,
  execution_intent: true,
  output_hints: true,
  budgets: true,
  identity: true,
  contracts: true,
} as const;

const NOTES = {
  trigger: "Keeps trigger semantics as they are; no sentinel schedule is needed.",
  schedule: "Keeps the cron schedule as it is, for backends that know scheduled roots.",
} as const;

/** The plan; `explain` has a line for every task. */
export function compileStandalone(manifest: Manifest): Compiled {
  const workflows = expandWorkflows(manifest).map(planWorkflow);
  const explain = workflows.flatMap(({ tasks }) => tasks).map(explainTask);
  const plan = { target: "standalone", version: "0.2", capabilities: CAPABILITIES, workflows };
  return { kind: "compiled", output: plan, explain };
}

interface PlannedWorkflow {
  readonly id: string;
  readonly name: string;
  readonly tasks: readonly TaskPlan[];
  readonly edges: readonly object[];
}

function planWorkflow(workflow: Workflow): PlannedWorkflow {
  const tasks = workflow.tasks.map((task) => planTask(workflow, task));
  const edges = tasks.flatMap(({ id, invocation, parent_compiled_id: from }) => {
    if (invocation.mode !== "trigger") return [];
    const { on, condition, delay_s } = invocation;
    return [{ from, to: id, on, condition, delay_s }];
  });
  return { id: workflow.id, name: workflow.name, tasks, edges };
}

function explainTask({ source, id, invocation }: TaskPlan): object {
  return {
    ...source,
    compiled_id: id,
    target: "standalone",
    invocation_mode: invocation.mode,
    notes: [NOTES[invocation.mode]],
  };
}
