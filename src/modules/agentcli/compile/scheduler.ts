/**
 * Compiles to the jobs of an openclaw-scheduler. What it could not store, or what would leave a
 * credential in its database, is a validation error of the target.
 * agentcli spec "openclaw-scheduler"
 */
import { type Failure, invalidManifest } from "../failure.ts";
import { Findings } from "../manifest/finding.ts";
import type { Manifest } from "../manifest/manifest.ts";
import { isDeclared } from "./merge.ts";
import { persistProfiles } from "./persisted.ts";
import {
  SCHEDULER_FIELDS,
  type SchedulerJob,
  SENTINEL_CRON,
  schedulerJob,
} from "./scheduler-job.ts";
import {
  type Compiled,
  expandWorkflows,
  explainPlan,
  planTask,
  type TaskPlan,
} from "./task-plan.ts";

/** Longest texts that the scheduler keeps. */
const LIMITS: Readonly<Record<string, number>> = {
  name: 200,
  payload_message: 100_000,
  agent_id: 128,
  schedule_cron: 128,
  schedule_tz: 128,
  delivery_channel: 64,
  delivery_to: 256,
  trigger_condition: 1024,
  payload_model: 256,
  payload_thinking: 64,
  preferred_session_key: 512,
};

const CREDENTIAL_NAME = /(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|APIKEY|API_KEY|PRIVATE_KEY)/i;

/** The jobs, in the form that apply projects. */
interface CompiledJobs extends Compiled {
  readonly jobs: readonly SchedulerJob[];
}

/** The jobs of a manifest, or what the target cannot take. */
export function compileScheduler(manifest: Manifest): CompiledJobs | Failure {
  const findings = new Findings();
  const jobs: SchedulerJob[] = [];
  const explain: object[] = [];
  for (const [at, workflow] of expandWorkflows(manifest).entries()) {
    for (const [index, task] of workflow.tasks.entries()) {
      const plan = planTask(workflow, task);
      const job = schedulerJob(plan, manifest, task.approval);
      checkJob(findings, `$.workflows[${at}].tasks[${index}]`, job, plan);
      jobs.push(job);
      explain.push(explainJob(plan));
    }
  }
  if (findings.hasErrors) return invalidManifest(findings.verdict());
  const output = {
    target: "openclaw-scheduler",
    version: "0.2",
    handoff: {
      field_version: "2",
      v1_field_count: SCHEDULER_FIELDS["1"].length,
      v2_field_count: SCHEDULER_FIELDS["2"].length,
    },
    jobs,
    ...persistProfiles(manifest),
  };
  return { output, explain, jobs };
}

function checkJob(findings: Findings, path: string, job: SchedulerJob, plan: TaskPlan): void {
  for (const [field, most] of Object.entries(LIMITS)) {
    const value = job[field];
    if (typeof value !== "string" || value.length <= most) continue;
    const message = `compiled openclaw-scheduler ${field} exceeds max length of ${most}`;
    findings.error(`${path}.${field}`, message);
  }
  if (job.parent_id === null && job["schedule_cron"] === SENTINEL_CRON) {
    findings.error(
      `${path}.schedule.cron`,
      "schedule_cron cannot use the reserved at-job sentinel for root cron jobs",
    );
  }
  const { payload } = plan.execution;
  for (const name of "env" in payload ? Object.keys(payload.env) : []) {
    if (!CREDENTIAL_NAME.test(name)) continue;
    const message = "would be stored in the scheduler's database; use identity.presentation";
    findings.error(`${path}.shell.env.${name}`, message);
  }
  const scope = isDeclared(plan.identity) ? plan.identity.scope : null;
  if (plan.child_credential_policy === "downscope" && scope === null) {
    findings.error(`${path}.child_credential_policy`, "downscope requires identity.scope");
  }
}

function explainJob(plan: TaskPlan): object {
  const notes =
    plan.invocation.mode === "trigger"
      ? [
          "The scheduler wants a cron line of triggered jobs too, so they carry a sentinel that never fires.",
          "When they run is decided by the scheduler's queue, not by the sentinel.",
        ]
      : ["A scheduled root maps directly to the scheduler's cron fields."];
  return {
    ...explainPlan(plan, "openclaw-scheduler", notes),
    model_policy: plan.execution.model_policy,
    intent: plan.intent,
    output: plan.output,
    budgets: plan.budgets,
  };
}
