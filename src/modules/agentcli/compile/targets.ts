/** The targets that a manifest compiles to, in listing order. */
import { recordIn } from "../../../base/json-value.ts";
import { type Failure, invalidManifest } from "../failure.ts";
import { Findings } from "../manifest/finding.ts";
import type { Manifest, Task, Workflow } from "../manifest/manifest.ts";
import { compileEndpoints } from "./endpoints.ts";
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

interface TargetRecord {
  readonly name: string;
  readonly description: string;
  readonly capabilities: readonly string[];
  readonly features: Readonly<Record<string, string | boolean>>;
}

/** A target and its compiler, which only receives valid manifests. */
interface Target extends TargetRecord {
  compile(manifest: Manifest): Compiled | Failure;
}

const TARGETS: readonly Target[] = [
  {
    name: "standalone",
    description: "A portable plan for authoring, validation and protocol use, without a runtime.",
    capabilities: ["schema", "validate", "compile", "describe", "json-rpc"],
    features: {
      approvals: "intent-only",
      model_policy: "portable",
      execution_intent: "portable",
      output_hints: "portable",
      timeout_support: "portable",
      context_retrieval: "portable",
      runtime_execution: false,
    },
    compile: compileStandalone,
  },
  {
    name: "openclaw-scheduler",
    description: "Jobs of an OpenClaw Scheduler, the durable runtime.",
    capabilities: ["compile", "apply", "inspect", "field-mask", "sanitize-basic", "ndjson"],
    features: {
      approvals: "runtime",
      model_policy: "model+thinking",
      execution_intent: "runtime",
      output_hints: "runtime",
      timeout_support: "runtime",
      context_retrieval: "runtime",
      runtime_execution: true,
    },
    compile: compileScheduler,
  },
  {
    name: "agtp",
    description: "The AGTP endpoints that a daemon registers for the tasks of exposed workflows.",
    capabilities: ["compile"],
    features: {
      approvals: "runtime",
      model_policy: "none",
      execution_intent: "runtime",
      output_hints: "runtime",
      timeout_support: "runtime",
      context_retrieval: "none",
      runtime_execution: true,
    },
    compile: compileEndpoints,
  },
];

/** Finds a target by name. */
export function findTarget(name: unknown): Target | undefined {
  return TARGETS.find((target) => target.name === name);
}

/** Lists the targets for clients. */
export function listTargets(): readonly TargetRecord[] {
  return TARGETS.map(({ name, description, capabilities, features }) => ({
    ...{ name, description, capabilities, features },
  }));
}

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

/** Compiles to a portable plan that no runtime is needed for.   agentcli spec "standalone" */
function compileStandalone(manifest: Manifest): Compiled {
  const workflows = expandWorkflows(manifest).map(planWorkflow);
  const explain = workflows
    .flatMap(({ tasks }) => tasks)
    .map((task) => explainPlan(task, "standalone", [NOTES[task.invocation.mode]]));
  const plan = { target: "standalone", version: "0.2", capabilities: CAPABILITIES, workflows };
  return { output: plan, explain };
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

/** The compiled jobs, which apply writes. */
interface CompiledJobs extends Compiled {
  readonly jobs: readonly SchedulerJob[];
}

/** Compiles a manifest to jobs, or fails if the scheduler cannot take them. */
export function compileScheduler(manifest: Manifest): CompiledJobs | Failure {
  const findings = new Findings();
  const jobs: SchedulerJob[] = [];
  const explain: object[] = [];
  for (const [at, workflow] of expandWorkflows(manifest).entries()) {
    const tasks = new Map(workflow.tasks.map((task) => [task.id, task]));
    for (const [index, task] of workflow.tasks.entries()) {
      const plan = planTask(workflow, task);
      const job = schedulerJob(plan, manifest, task.approval);
      checkJob(findings, `$.workflows[${at}].tasks[${index}]`, { job, plan, tasks });
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

interface CheckedJob {
  readonly job: SchedulerJob;
  readonly plan: TaskPlan;
  /** The expanded workflow's tasks by id. */
  readonly tasks: ReadonlyMap<string, Task>;
}

/**
 * Checks a job against the scheduler's own rules. The scheduler takes jobs one by one, so known refusals are found
 * before the first is written.   agentcli spec "openclaw-scheduler"
 */
function checkJob(findings: Findings, path: string, checked: CheckedJob): void {
  const { job, plan } = checked;
  const fail = (field: string, message: string): void =>
    findings.error(`${path}.${field}`, message);
  for (const [field, most] of Object.entries(LIMITS)) {
    const value = job[field];
    if (typeof value !== "string" || value.length <= most) continue;
    fail(field, `compiled openclaw-scheduler ${field} exceeds max length of ${most}`);
  }
  for (const field of JSON_FIELDS.filter((name) => sizeOf(job[name]) > MAX_JSON_BYTES)) {
    fail(field, `compiled openclaw-scheduler ${field} exceeds ${MAX_JSON_BYTES} bytes`);
  }
  if (plan.invocation.mode === "trigger") {
    checkTriggered(fail, checked, plan.invocation.parent);
  } else if (plan.invocation.cron === SENTINEL_CRON) {
    const message = "schedule_cron cannot use the reserved at-job sentinel for root cron jobs";
    fail("schedule.cron", message);
  }
  const { session_target: target, payload_kind: kind, payload } = plan.execution;
  const kinds = PAYLOAD_KINDS[target] ?? [];
  if (!kinds.includes(kind)) fail("target.payload_kind", `must be one of: ${kinds.join(", ")}`);
  for (const name of "env" in payload ? Object.keys(payload.env) : []) {
    if (!CREDENTIAL_NAME.test(name)) continue;
    const message = "would be stored in the scheduler's database; use identity.presentation";
    fail(`shell.env.${name}`, message);
  }
}

/** The maximum length of texts in the scheduler. */
const LIMITS: Readonly<Record<string, number>> = {
  name: 200,
  payload_message: 100_000,
  verify_shell: 100_000,
  agent_id: 128,
  schedule_cron: 128,
  schedule_tz: 128,
  delivery_channel: 64,
  delivery_to: 256,
  trigger_condition: 1024,
  payload_model: 256,
  payload_thinking: 64,
  preferred_session_key: 512,
  auth_profile: 256,
  identity_principal: 512,
  identity_subject_principal: 512,
  identity_run_as: 256,
  identity_attestation: 256,
  identity_ref: 256,
  authorization_proof_ref: 256,
  authorization_ref: 256,
  evidence_ref: 256,
};

/** Fields that the scheduler stores as JSON. */
const JSON_FIELDS: readonly string[] = [
  ...["identity", "authorization_proof", "authorization", "evidence", "contract_allowed_paths"],
];
const MAX_JSON_BYTES = 32_768;

function sizeOf(value: unknown): number {
  return Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value));
}

const PAYLOAD_KINDS: Readonly<Record<string, readonly string[]>> = {
  main: ["systemEvent"],
  isolated: ["systemEvent", "agentTurn"],
  shell: ["shellCommand"],
};

const CREDENTIAL_NAME = /(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|APIKEY|API_KEY|PRIVATE_KEY)/i;

/** The maximum number of triggers in a chain. */
const MAX_TRIGGERS = 10;

/** Checks that a trigger chain is finite and that a task with narrowed credentials states its scope. */
function checkTriggered(
  fail: (field: string, message: string) => void,
  { job, plan, tasks }: CheckedJob,
  parent: string,
): void {
  let triggers = 0;
  let before: string | undefined = parent;
  while (before !== undefined && triggers <= MAX_TRIGGERS) {
    triggers += 1;
    before = tasks.get(before)?.trigger?.parent;
  }
  if (triggers > MAX_TRIGGERS) {
    const message = `follows on more than ${MAX_TRIGGERS} tasks, one after the other, or on itself`;
    fail("trigger.parent", message);
  }
  // The scheduler also takes the parent's policy if the job has none.
  const policy = plan.child_credential_policy ?? tasks.get(parent)?.child_credential_policy;
  if (policy !== "downscope" || recordIn(job["identity"])["scope"] !== undefined) return;
  fail("identity.scope", `is required: the task inherits "downscope" from its parent "${parent}"`);
}
