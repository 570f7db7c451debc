/**
 * Compiles one task to a flat job of the scheduler, with the fields that the scheduler requires beyond the manifest.
 * agentcli spec "openclaw-scheduler"
 */
import { given, type JsonRecord } from "../../../base/json-value.ts";
import type { Approval, Manifest } from "../manifest/manifest.ts";
import {
  applyAuthorizationProfile,
  applyEvidenceProfile,
  applyProofProfile,
  effectiveOf,
  isDeclared,
} from "./merge.ts";
import { persistDeclaration, persistIdentity, persistProof } from "./persisted.ts";
import type { ShellPayload, TaskPlan } from "./task-plan.ts";

const FIRST = [
  ...["id", "name", "enabled", "schedule_cron", "schedule_tz", "session_target", "agent_id"],
  ...["payload_kind", "payload_message", "payload_model", "payload_thinking"],
  ...["execution_intent", "execution_read_only", "run_timeout_ms", "overlap_policy"],
  ...["max_retries", "max_queued_dispatches", "max_pending_approvals", "max_trigger_fanout"],
  ...["delivery_mode", "delivery_channel", "delivery_to", "delivery_opt_out_reason"],
  ...["delivery_guarantee", "origin", "parent_id", "trigger_on", "trigger_delay_s"],
  ...["trigger_condition", "approval_required", "approval_timeout_s", "approval_auto"],
  ...["context_retrieval", "context_retrieval_limit", "output_store_limit_bytes"],
  ...["output_excerpt_limit_bytes", "output_summary_limit_bytes"],
  ...["output_offload_threshold_bytes", "preferred_session_key", "delete_after_run"],
] as const;

const SECOND = [
  ...["identity_principal", "identity_run_as", "identity_attestation", "identity_ref"],
  ...["identity_subject_kind", "identity_subject_principal", "identity_trust_level"],
  ...["identity_delegation_mode", "identity", "authorization_proof_ref", "authorization_proof"],
  ...["authorization_ref", "authorization", "evidence_ref", "evidence"],
  ...["contract_required_trust_level", "contract_trust_enforcement", "contract_sandbox"],
  ...["contract_allowed_paths", "contract_network", "contract_max_cost_usd", "contract_audit"],
  "child_credential_policy",
] as const;

export type FieldVersion = "1" | "2";

/** Field names in the order of the compiled job. */
export const SCHEDULER_FIELDS: Readonly<Record<FieldVersion, readonly string[]>> = {
  "1": FIRST,
  "2": [...FIRST, ...SECOND],
};

/** A date that never occurs: the scheduler requires a cron line even for triggered jobs. */
export const SENTINEL_CRON = "0 0 31 2 *";

const RUN_TIMEOUT_MS = 300_000;
const APPROVAL_TIMEOUT_S = 3600;

/** A compiled job. */
export interface SchedulerJob extends JsonRecord {
  readonly id: string;
  readonly name: string;
  readonly source: TaskPlan["source"];
  readonly parent_id: string | null;
}

/** Compiles a planned task. */
export function schedulerJob(
  plan: TaskPlan,
  manifest: Manifest,
  asked?: Approval | null,
): SchedulerJob {
  const { execution, intent, reliability, budgets, delivery, approval, context } = plan;
  return {
    id: plan.id,
    source: plan.source,
    name: plan.name,
    enabled: plan.enabled && approval.policy !== "auto-reject" ? 1 : 0,
    ...scheduleOf(plan),
    session_target: execution.session_target,
    agent_id: execution.agent_id,
    payload_kind: execution.payload_kind,
    payload_message:
      "program" in execution.payload ? shellLine(execution.payload) : execution.payload.prompt,
    payload_model: execution.model_policy.scheduler_model,
    payload_thinking: execution.model_policy.thinking,
    execution_intent: intent.mode,
    execution_read_only: intent.read_only === true ? 1 : 0,
    run_timeout_ms: plan.runtime.timeout_ms ?? RUN_TIMEOUT_MS,
    overlap_policy: reliability.overlap_policy,
    max_retries: reliability.max_retries,
    max_queued_dispatches: budgets.max_queued_dispatches,
    max_pending_approvals: budgets.max_pending_approvals,
    max_trigger_fanout: budgets.max_fanout,
    delivery_mode: delivery.mode,
    delivery_channel: delivery.channel,
    delivery_to: delivery.to,
    delivery_opt_out_reason: optOutReason(plan),
    delivery_guarantee: reliability.guarantee,
    origin: "system",
    ...triggerOf(plan),
    approval_required: approval.required,
    approval_timeout_s: approval.timeout_s ?? APPROVAL_TIMEOUT_S,
    approval_auto: approval.auto ?? "reject",
    context_retrieval: context.retrieval,
    context_retrieval_limit: context.limit,
    ...outputLimits(plan),
    preferred_session_key: plan.session.preferred_key,
    ...governanceOf(plan, manifest),
    child_credential_policy: plan.child_credential_policy,
    delete_after_run: plan.delete_after_run === true ? 1 : 0,
    ...laterFields(plan, asked),
  };
}

function scheduleOf({ invocation }: TaskPlan): JsonRecord {
  return invocation.mode === "schedule"
    ? { schedule_cron: invocation.cron, schedule_tz: invocation.tz }
    : { schedule_cron: SENTINEL_CRON, schedule_tz: "UTC" };
}

function triggerOf({ invocation, parent_compiled_id: parent }: TaskPlan): {
  readonly parent_id: string | null;
} & JsonRecord {
  if (invocation.mode === "schedule") {
    return { parent_id: null, trigger_on: null, trigger_delay_s: 0, trigger_condition: null };
  }
  const { on, delay_s, condition } = invocation;
  return {
    parent_id: parent,
    trigger_on: on,
    trigger_delay_s: delay_s,
    trigger_condition: condition,
  };
}

/** The scheduler requires a reason if a root agent turn has no delivery. */
function optOutReason({ invocation, execution, delivery }: TaskPlan): string | null {
  const isRootTurn = invocation.mode === "schedule" && execution.payload_kind === "agentTurn";
  return isRootTurn && delivery.mode === "none" ? "the manifest asks for no delivery" : null;
}

function outputLimits({ output: { preview_bytes, offload, retrieve } }: TaskPlan): JsonRecord {
  const preview = Math.max(64, preview_bytes);
  const store = Math.max(retrieve === "inline" ? preview * 4 : preview, 65_536);
  const thresholds: Readonly<Record<string, number>> = {
    always: 128,
    never: Math.max(store, 1_048_576),
    auto: Math.max(store, preview * 8, 65_536),
  };
  return {
    output_store_limit_bytes: store,
    output_excerpt_limit_bytes: preview,
    output_summary_limit_bytes: Math.max(5000, preview),
    output_offload_threshold_bytes: thresholds[offload] ?? 65_536,
  };
}

function governanceOf(plan: TaskPlan, manifest: Manifest): JsonRecord {
  const { identity, contract } = plan;
  const effective = isDeclared(identity) ? effectiveOf(plan, manifest) : undefined;
  const flat = isDeclared(identity) ? undefined : identity;
  const scope = isDeclared(identity) ? identity.scope : null;
  const isProgram = "program" in plan.execution.payload;
  const proof = plan.authorization_proof && applyProofProfile(manifest, plan.authorization_proof);
  const authorization =
    plan.authorization && applyAuthorizationProfile(manifest, plan.authorization);
  const evidence = plan.evidence && applyEvidenceProfile(manifest, plan.evidence);
  return {
    identity_principal: flat?.principal ?? null,
    identity_run_as: flat?.run_as ?? null,
    identity_attestation: flat?.attestation ?? null,
    contract_sandbox: contract.sandbox,
    contract_allowed_paths:
      contract.allowed_paths === null ? null : JSON.stringify(contract.allowed_paths),
    contract_network: contract.network,
    contract_max_cost_usd: contract.max_cost_usd,
    contract_audit: contract.audit,
    identity_ref: effective?.ref ?? null,
    identity_subject_kind: effective?.subject.kind ?? null,
    identity_subject_principal: effective?.subject.principal ?? null,
    identity_trust_level: effective?.trust.level ?? null,
    identity_delegation_mode: effective?.subject.delegation_mode ?? null,
    identity: effective === undefined ? null : persistIdentity(effective, scope, isProgram),
    authorization_proof_ref: proof?.ref ?? null,
    authorization_proof: proof === null ? null : persistProof(proof),
    authorization_ref: authorization?.ref ?? null,
    authorization: authorization === null ? null : persistDeclaration(authorization),
    evidence_ref: evidence?.ref ?? null,
    evidence: evidence === null ? null : persistDeclaration(evidence),
    contract_required_trust_level: contract.required_trust_level,
    contract_trust_enforcement: contract.trust_enforcement,
  };
}

/**
 * Fields unknown to older schedulers, present only if set. Of an approval only the manifest's own values are sent: a
 * default level is no declared safeguard.
 */
function laterFields(plan: TaskPlan, asked: Approval | null | undefined): JsonRecord {
  const { verify, auth_profile, output } = plan;
  return given({
    verify_shell: verify === null ? undefined : verifyLine(verify.shell, plan),
    verify_timeout_s: verify?.timeout_seconds,
    verify_on_failure: verify?.on_failure,
    approval_risk_level: asked?.risk_level ?? undefined,
    approval_approver_scope: asked?.approver_scope ?? undefined,
    auth_profile: auth_profile ?? undefined,
    output_format: output.format ?? undefined,
  });
}

/** The shell line of a check, run in its task's directory. */
function verifyLine(shell: string, { execution: { payload } }: TaskPlan): string {
  const cwd = "program" in payload ? payload.cwd : null;
  if (cwd === null) return shell;
  return shellLine({ program: "sh", args: ["-c", shell], env: {}, cwd, stdin: null });
}

/** Returns a line for `sh -c` that runs exactly this program with these arguments, each part quoted. */
function shellLine({ program, args, env, cwd, stdin }: ShellPayload): string {
  const variables = Object.keys(env)
    .toSorted()
    .map((name) => `${name}=${quote(env[name] ?? "")}`);
  const command = [...variables, ...[program, ...args].map(quote)].join(" ");
  const piped = stdin === null ? command : `printf %s ${quote(stdin)} | ${command}`;
  return cwd === null ? piped : `cd ${quote(cwd)} && ${piped}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'"'"'`)}'`;
}
