/**
 * Runs one task from the call to the report, and then the tasks that it triggers. Refusals are errors that the endpoint
 * declares.   agentcli execution identity "Pipeline"
 */
import { recordIn } from "../../../base/json-value.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { compileLinearRegex } from "../../../schema/linear-regex.ts";
import { type FoundTask, foundTask } from "../identity/find-task.ts";
import { taskHash } from "../identity/task-hash.ts";
import type { Task, Trigger, Workflow } from "../manifest/manifest.ts";
import { executeProgram } from "./execute-program.ts";
import {
  type Executor,
  type Run,
  type RunCaller,
  type RunRefusal,
  type RunReport,
  refuseRun,
  type TaskOutput,
} from "./execution.ts";
import { govern } from "./govern.ts";
import { executePrompt } from "./prompt-runtime.ts";

/** The maximum length of a trigger chain, which may be a cycle. */
const MAX_DEPTH = 5;

/** Runs a task, or previews it. */
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
  const ended = await runOnce(found, caller, executor);
  const outcome = withWordOfAudit(ended, audit(found, caller, ended));
  if (outcome.output === undefined) return outcome;
  const children = await runFollowers(found, caller, executor, outcome.output, depth);
  if (children.length === 0) return outcome;
  return outcome.kind === "refused"
    ? { ...outcome, details: { ...recordIn(outcome.details), children } }
    : { ...outcome, body: { ...outcome.body, children } };
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
    // Checked again, as the run may have waited for its turn or its parent.
    const inactive = caller.findInactive();
    if (inactive !== undefined) return refuseRun("authorization_denied", inactive);
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

/** Runs triggered tasks in sequence, each under its own rules. */
async function runFollowers(
  { manifest, workflow, plan }: FoundTask,
  caller: RunCaller,
  executor: Executor,
  output: TaskOutput,
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
    const found = foundTask(manifest, workflow, task);
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

/** Adds to a run's answer if it was audited. */
function withWordOfAudit<T extends RunReport | RunRefusal>(outcome: T, audited: boolean): T {
  if (outcome.kind === "refused" || outcome.output === undefined) return outcome;
  return { ...outcome, body: { ...outcome.body, audited } };
}

/** Logs a run if its contract requires it, without arguments and output; returns whether it did. */
function audit({ plan }: FoundTask, { call }: RunCaller, outcome: RunReport | RunRefusal): boolean {
  const wanted = plan.contract.audit ?? "always";
  const isFailed = outcome.kind === "refused" || outcome.output?.isOk === false;
  if (wanted === "none" || (wanted === "on-failure" && !isFailed)) return false;
  const fields = {
    event: "agentcli-task",
    ...plan.source,
    execution_id: outcome.kind === "report" ? (outcome.body["execution_id"] ?? null) : null,
    outcome: outcome.kind === "refused" ? outcome.error : outcome.status,
    ok: outcome.kind === "report" && outcome.output?.isOk === true,
    ...(outcome.kind === "refused" ? { reason: outcome.reason ?? outcome.message } : {}),
  };
  call.log.info(fields, "a task of a workflow was asked for");
  return true;
}

/** Previews a run without its arguments and values, which callers may not see. */
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

/** A triggered task, or the reason that it is not run. */
type Followed =
  | { readonly kind: "follows"; readonly task: Task }
  | { readonly kind: "not-run"; readonly task: Task; readonly reason: string };

/**
 * The tasks that an outcome triggers, in manifest order; tasks with other triggers are omitted. Conditions are matched
 * in linear time.   agentcli spec "Triggers"
 */
function tasksAfter(
  { tasks }: Workflow,
  parentId: string,
  output: TaskOutput,
): readonly Followed[] {
  return tasks.flatMap((task): readonly Followed[] => {
    const { trigger, enabled } = task;
    if (trigger === undefined || trigger === null || trigger.parent !== parentId) return [];
    if (enabled === false || !isMeant(trigger.on, output.isOk)) return [];
    const verdict = matches(trigger.condition ?? null, output.text);
    if (verdict === false) return [];
    if (verdict !== true) return [{ kind: "not-run", task, reason: verdict }];
    if ((trigger.delay_s ?? 0) > 0) {
      const reason = "delay_s needs a scheduler: a daemon has no clock for it";
      return [{ kind: "not-run", task, reason }];
    }
    return [{ kind: "follows", task }];
  });
}

function isMeant(on: Trigger["on"], isOk: boolean): boolean {
  return on === "complete" || (on === "success") === isOk;
}

/** A text is the reason that the condition cannot be evaluated. */
function matches(condition: string | null, text: string): boolean | string {
  if (condition === null) return true;
  const [, kind, rest = ""] = /^(contains|regex):([\s\S]*)$/.exec(condition) ?? [];
  if (kind === "contains") return text.includes(rest);
  const compiled = compileLinearRegex(rest);
  return compiled.kind === "regex"
    ? compiled.regex.test(text)
    : `the condition ${compiled.message}`;
}
