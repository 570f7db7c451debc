/**
 * Writes out what a manifest says in short: the handler of a task's failure becomes a task of its
 * own, right behind it.   agentcli spec "Shorthand"
 */
import type { FailureHandler, Manifest, Target, Task, Workflow } from "../manifest/manifest.ts";

/** The manifest's workflows without shorthand. */
export function expandWorkflows({ workflows }: Manifest): readonly Workflow[] {
  return workflows.map((workflow) => ({ ...workflow, tasks: workflow.tasks.flatMap(expandTask) }));
}

function expandTask(task: Task): readonly Task[] {
  const { on_failure: handler, ...own } = task;
  return handler === undefined || handler === null ? [own] : [own, failureTask(own, handler)];
}

function failureTask(parent: Task, handler: FailureHandler): Task {
  const { id, name, enabled, target, delay_s, condition, ...blocks } = handler;
  return {
    ...blocks,
    id: id ?? `${parent.id}.failure`,
    name: name ?? `${parent.name} Failure Handler`,
    enabled: enabled ?? parent.enabled ?? null,
    target: failureTarget(parent.target, handler),
    trigger: {
      parent: parent.id,
      on: "failure",
      delay_s: delay_s ?? 0,
      condition: condition ?? null,
    },
  };
}

function failureTarget(parent: Target, { target, shell }: FailureHandler): Target {
  const inferred = shell === undefined || shell === null ? "isolated" : "shell";
  return {
    session_target: target?.session_target ?? inferred,
    agent_id: target?.agent_id ?? parent.agent_id ?? "main",
    payload_kind: target?.payload_kind ?? null,
  };
}
