/** Finds one task of a valid manifest by a caller's ids. */
import { expandWorkflows, planTask, type TaskPlan } from "../compile/task-plan.ts";
import { type Failure, invalidArgument } from "../failure.ts";
import type { Manifest, Task, Workflow } from "../manifest/manifest.ts";

/** A task with the scopes that it inherits from. */
export interface FoundTask {
  readonly manifest: Manifest;
  /** The expanded workflow. */
  readonly workflow: Workflow;
  readonly task: Task;
  readonly plan: TaskPlan;
}

/** Plans a task of an expanded workflow. */
export function foundTask(manifest: Manifest, workflow: Workflow, task: Task): FoundTask {
  return { manifest, workflow, task, plan: planTask(workflow, task) };
}

/** Finds a task, including failure handlers, or fails with the alternatives. */
export function findTask(
  manifest: Manifest,
  taskId: string,
  workflowId: string | undefined,
): FoundTask | Failure {
  const workflows = expandWorkflows(manifest);
  const workflow = chooseWorkflow(workflows, workflowId);
  if ("kind" in workflow) return workflow;
  const task = workflow.tasks.find(({ id }) => id === taskId);
  if (task === undefined) {
    const known = workflow.tasks.map(({ id }) => id).join(", ");
    return invalidArgument(
      `Task not found: ${taskId} in workflow ${workflow.id}. Available: ${known}`,
    );
  }
  return foundTask(manifest, workflow, task);
}

function chooseWorkflow(
  workflows: readonly Workflow[],
  workflowId: string | undefined,
): Workflow | Failure {
  if (workflowId !== undefined) {
    const named = workflows.find(({ id }) => id === workflowId);
    return named ?? invalidArgument(`Workflow not found: ${workflowId}`);
  }
  const [only, ...others] = workflows;
  if (only !== undefined && others.length === 0) return only;
  const known = workflows.map(({ id }) => id).join(", ");
  return invalidArgument(`Multiple workflows found; specify --workflow. Available: ${known}`);
}
