/**
 * One task from the call to the report, and the tasks that follow on it. Refusals are the errors that
 * the endpoint declares.   agentcli execution identity "Pipeline"
 */
import { uuidv7 } from "../../../identity/uuid.ts";
import { planTask } from "../compile/task-plan.ts";
import type { FoundTask } from "../identity/resolve-identity.ts";
import { taskHash } from "./approvals.ts";
import { executeProgram } from "./execute-program.ts";
import {
  type Executor,
  type Run,
  type RunCaller,
  type RunRefusal,
  type RunReport,
  refuseRun,
} from "./execution.ts";
import { type Governed, govern } from "./govern.ts";
import { sendPrompt } from "./prompt-runtime.ts";
import { tasksAfter } from "./triggers.ts";

/** A chain of triggers ends here, whether it is a circle or only long. */
const MAX_DEPTH = 5;

/** Runs a task for a caller, or says what it would run. */
export async function runTask(
  found: FoundTask,
  caller: RunCaller,
  executor: Executor,
): Promise<RunReport | RunRefusal> {
  const { plan } = found;
  if (caller.call.input["dry_run"] === true || plan.intent.mode === "plan")
    return previewRun(found);
  return runWithFollowers(found, caller, executor, 1);
}

async function runWithFollowers(
  found: FoundTask,
  caller: RunCaller,
  executor: Executor,
  depth: number,
): Promise<RunReport | RunRefusal> {
  const outcome = await runOnce(found, caller, executor);
  audit(found, caller, outcome);
  if (outcome.kind === "refused" || outcome.output === undefined) return outcome;
  const children = await runFollowers(found, caller, executor, outcome.output, depth);
  if (children.length === 0) return outcome;
  return { ...outcome, body: { ...outcome.body, children } };
}

async function runOnce(
  found: FoundTask,
  caller: RunCaller,
  executor: Executor,
): Promise<RunReport | RunRefusal> {
  const run: Run = { found, ...caller, executionId: uuidv7() };
  const governed = await govern(run, executor);
  if (governed.kind !== "governed") return governed;
  const { plan, task } = found;
  const overlap = {
    policy: task.reliability?.overlap_policy ?? "allow",
    maxQueued: plan.budgets.max_queued_dispatches,
  } as const;
  const wanted = { taskId: plan.id, owner: caller.payer, signal: caller.call.signal };
  const begun = await executor.runs.begin(wanted, overlap);
  if (begun.kind === "none") return refuseRun("task_already_running", begun.message);
  try {
    if (!(await governed.consume())) {
      return refuseRun("approval_required", "the approval was used by another run");
    }
    const { payload } = plan.execution;
    return "program" in payload
      ? await executeProgram(run, payload, governed, executor)
      : await executePrompt(run, payload.prompt, governed, executor);
  } finally {
    await begun.end();
  }
}

/** One after the other, each under its own rules. */
async function runFollowers(
  { manifest, workflow, plan }: FoundTask,
  caller: RunCaller,
  executor: Executor,
  output: NonNullable<RunReport["output"]>,
  depth: number,
): Promise<readonly object[]> {
  const children: object[] = [];
  const followed = tasksAfter(workflow, plan.source.task_id, output);
  for (const one of followed.slice(0, plan.budgets.max_fanout)) {
    const { task } = one;
    if (one.kind === "not-run" || depth >= MAX_DEPTH) {
      const reason = one.kind === "not-run" ? one.reason : "the chain of triggers is too long";
      children.push({ task_id: task.id, ran: false, reason });
      continue;
    }
    const found: FoundTask = { manifest, workflow, task, plan: planTask(workflow, task) };
    const isPlan = found.plan.intent.mode === "plan";
    const outcome = isPlan
      ? previewRun(found)
      : await runWithFollowers(found, caller, executor, depth + 1);
    children.push(describeChild(task.id, outcome));
  }
  for (const { task } of followed.slice(plan.budgets.max_fanout)) {
    children.push({ task_id: task.id, ran: false, reason: "budgets.max_fanout is reached" });
  }
  return children;
}

function describeChild(taskId: string, outcome: RunReport | RunRefusal): object {
  if (outcome.kind === "refused") {
    const { error, message, details } = outcome;
    const ran = error === "verify_failed" || error === "evidence_failed";
    return { task_id: taskId, ran, error, reason: message, details: details ?? null };
  }
  return { task_id: taskId, ran: outcome.output !== undefined, ...outcome.body };
}

/** Neither arguments nor output: only what was done, for whom, and how it went. */
function audit({ plan }: FoundTask, { call }: RunCaller, outcome: RunReport | RunRefusal): void {
  const wanted = plan.contract.audit ?? "always";
  const isFailed = outcome.kind === "refused" || outcome.output?.isOk === false;
  if (wanted === "none" || (wanted === "on-failure" && !isFailed)) return;
  const fields = {
    event: "agentcli-task",
    ...plan.source,
    execution_id: outcome.kind === "report" ? (outcome.body["execution_id"] ?? null) : null,
    outcome: outcome.kind === "refused" ? outcome.error : outcome.status,
    ok: outcome.kind === "report" && outcome.output?.isOk === true,
    ...(outcome.kind === "refused" ? { reason: outcome.reason ?? outcome.message } : {}),
  };
  call.log.info(fields, "a task of a workflow was asked for");
}

/** Arguments and values stay the operator's own: they may hold what callers must not see. */
function previewRun(found: FoundTask): RunReport {
  const { plan } = found;
  const { source, name, contract, approval, runtime, execution } = plan;
  const { payload } = execution;
  const command =
    "program" in payload
      ? {
          program: payload.program,
          argument_count: payload.args.length,
          env: Object.keys(payload.env),
          has_stdin: payload.stdin !== null,
        }
      : { prompt_characters: payload.prompt.length };
  const { policy, risk_level, approver_scope } = approval;
  const body = {
    ok: true,
    dry_run: true,
    source,
    name,
    task_hash: taskHash(found),
    command,
    contract,
    approval_policy: { policy, risk_level, approver_scope },
    timeout_ms: runtime.timeout_ms,
    warnings: plan.intent.mode === "plan" ? ["intent.mode is plan: the task is never run"] : [],
  };
  return { kind: "report", status: 200, body };
}

/**
 * Asks the configured agent to answer the prompt of a task that may run. Sends the prompt; what the
 * agent says is passed on as it is.
 */
async function executePrompt(
  { found: { plan }, call, executionId }: Run,
  prompt: string,
  { identity, warnings }: Governed,
  { runtime, usualTimeoutMs }: Executor,
): Promise<RunReport | RunRefusal> {
  if (runtime === undefined) {
    return refuseRun("no_runtime", "no prompt_runtime is configured, so nobody answers prompts");
  }
  const waitMs = Math.min(plan.runtime.timeout_ms ?? usualTimeoutMs, usualTimeoutMs);
  const answer = await sendPrompt(runtime, prompt, waitMs, call);
  if (answer.kind === "no-runtime") return refuseRun("no_runtime", answer.message);
  const { status, body } = answer;
  if (status !== 200 && status !== 202) {
    const message = `EXECUTE ${runtime.path} answered ${status}`;
    return refuseRun("runtime_failed", message, { status, body });
  }
  const isOk = status === 200;
  return {
    kind: "report",
    status,
    body: {
      ok: isOk,
      execution_id: executionId,
      source: plan.source,
      declared_identity: identity.declared,
      resolved_identity: identity.described,
      principal_used: identity.principal,
      runtime: { path: runtime.path, status, body },
      warnings,
    },
    ...(isOk ? { output: { isOk, text: JSON.stringify(body) ?? "" } } : {}),
  };
}
