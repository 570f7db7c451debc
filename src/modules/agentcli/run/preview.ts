/**
 * The preview of a run: made from the manifest alone, without asking, reading or running anything.
 */
import type { FoundTask } from "../identity/resolve-identity.ts";
import type { RunReport } from "./execution.ts";
import { taskHash } from "./task-hash.ts";

/** Arguments and values stay the operator's own: they may hold what callers must not see. */
export function previewRun(found: FoundTask): RunReport {
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
