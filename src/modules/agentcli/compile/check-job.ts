/**
 * The rules of the scheduler beyond those of a manifest. It takes jobs one by one: whatever it is known
 * to refuse is refused before the first is written.   agentcli spec "openclaw-scheduler"
 */
import { recordIn } from "../../../base/json-value.ts";
import type { Findings } from "../manifest/finding.ts";
import type { Task } from "../manifest/manifest.ts";
import { type SchedulerJob, SENTINEL_CRON } from "./scheduler-job.ts";
import type { TaskPlan } from "./task-plan.ts";

interface CheckedJob {
  readonly job: SchedulerJob;
  readonly plan: TaskPlan;
  /** The tasks of its workflow by id, expanded. */
  readonly tasks: ReadonlyMap<string, Task>;
}

/** Reports what the scheduler would not take. */
export function checkJob(findings: Findings, path: string, checked: CheckedJob): void {
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

/** Longest texts that the scheduler keeps. */
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

/** Fields that it keeps as JSON. */
const JSON_FIELDS: readonly string[] = [
  ...["identity", "authorization_proof", "authorization", "evidence", "contract_allowed_paths"],
];
const MAX_JSON_BYTES = 32_768;

function sizeOf(value: unknown): number {
  return Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value));
}

/** The kinds of payload that each target takes. */
const PAYLOAD_KINDS: Readonly<Record<string, readonly string[]>> = {
  main: ["systemEvent"],
  isolated: ["systemEvent", "agentTurn"],
  shell: ["shellCommand"],
};

const CREDENTIAL_NAME = /(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|APIKEY|API_KEY|PRIVATE_KEY)/i;

/** Its chains of jobs have so many triggers at most. */
const MAX_TRIGGERS = 10;

/** A chain has an end, and who takes over narrowed credentials says how far they reach. */
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
  // The scheduler looks at the parent where a job says nothing.
  const policy = plan.child_credential_policy ?? tasks.get(parent)?.child_credential_policy;
  if (policy !== "downscope" || recordIn(job["identity"])["scope"] !== undefined) return;
  fail("identity.scope", `is required: the task inherits "downscope" from its parent "${parent}"`);
}
