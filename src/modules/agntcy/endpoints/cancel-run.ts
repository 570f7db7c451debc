/**
 * CANCEL on a run, where the agent's server calls runs off. 200 with the run · 404 · 409 it is over
 */
import type { Call, HandlerResult } from "../../../handlers/handler.ts";
import { addressOf, isOver } from "../runs/run.ts";
import { askServer, type HostedRuns } from "./hosted-runs.ts";
import { answerRun, findRun, runConflict, runNotFound, upstreamError } from "./run-answers.ts";

/** Answers CANCEL. */
export async function cancelRun(hosted: HostedRuns, call: Call): Promise<HandlerResult> {
  const { agent, register } = hosted;
  const run = findRun(register, agent.base, call, undefined);
  if (run === undefined) return runNotFound();
  if (run.status === "cancelled") return answerRun(hosted, run);
  if (isOver(run)) return runConflict("run_over", `the run is over: ${run.status}`, run);
  const answer = await askServer(hosted, (signal) =>
    agent.client.cancelRun(addressOf(run), signal),
  );
  if (answer.kind === "failed") return upstreamError(call, answer, run.runId);
  const change = { status: "cancelled", interrupt: undefined } as const;
  const cancelled = await register.change(run.runId, ["pending", "interrupted"], change, {});
  // It may have come to its end a moment before.
  return answerRun(hosted, cancelled ?? register.find(run.runId) ?? run);
}
