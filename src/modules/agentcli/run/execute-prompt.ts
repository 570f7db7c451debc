/** Asks the configured agent to answer the prompt of a task that may run. */
import {
  type Executor,
  type Run,
  type RunRefusal,
  type RunReport,
  refuseRun,
} from "./execution.ts";
import type { Governed } from "./govern.ts";
import { sendPrompt } from "./prompt-runtime.ts";

/** Sends the prompt; what the agent says is passed on as it is. */
export async function executePrompt(
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
