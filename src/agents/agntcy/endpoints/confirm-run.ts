/**
 * CONFIRM on a run that stopped to ask: its owner's word, and what the agent is to go on with. The
 * value is always the caller's own, never made from the word, and must be what the interrupt that the
 * run waits for declares.
 * 200 and 202 as EXECUTE · 404 · 409 the run does not wait · 422 the value is not what was asked for
 */
import type { Call, HandlerResult } from "../../../handlers/handler.ts";
import { isRecord } from "../../../json-value.ts";
import type { AcpFailure } from "../acp/acp-call.ts";
import { type AgentRun, isSettled } from "../runs/run.ts";
import { type HostedRuns, remainingWait } from "./hosted-runs.ts";
import {
  answerRun,
  findRun,
  invalidValue,
  runConflict,
  runNotFound,
  upstreamError,
} from "./run-answers.ts";

/** Answers CONFIRM. Of two at once, one goes on with the run. */
export async function confirmRun(hosted: HostedRuns, call: Call): Promise<HandlerResult> {
  const { agent, register, follower, findLapse } = hosted;
  const startedAt = Date.now();
  const run = findRun(register, agent.base, call, undefined);
  if (run === undefined) return runNotFound();
  if (run.status !== "interrupted") return notWaiting(run);
  const fault = checkValue(hosted, run, call);
  if (fault !== undefined) return fault;
  const lapse = findLapse();
  if (lapse !== undefined) return upstreamError(call, lapse, run.runId);
  if (call.input["status"] === "deferred") {
    await register.record(run.runId, [wordEvent(call)]);
    return answerRun(register, agent, run);
  }
  const resumed = await follower.exclusively(run.runId, () => resume(hosted, run, call));
  if (resumed === undefined) return notWaiting(run);
  if (!("runId" in resumed)) return resumed;
  const waitMs = remainingWait(hosted, call.input["wait_seconds"], startedAt);
  const waiting = AbortSignal.any([call.signal, hosted.stopping]);
  await register.settled(run.runId, waitMs, waiting);
  return answerRun(register, agent, register.find(run.runId) ?? resumed);
}

function checkValue({ agent }: HostedRuns, run: AgentRun, { input }: Call) {
  const { status, resume_value: value } = input;
  const isThere = Object.hasOwn(input, "resume_value");
  const fail = (path: string, keyword: string, message: string) =>
    invalidValue("resume_value", [{ path, keyword, message }]);
  if (status === "deferred") {
    return isThere
      ? fail("", "not", "must be absent, because a deferred run goes on waiting")
      : undefined;
  }
  if (!isThere) return fail("", "required", "is required: what the agent is to go on with");
  const asked = agent.manifest.specs.interrupts.find(({ type }) => type === run.interrupt?.type);
  const violations = asked?.resume.check(value);
  if (violations !== undefined) return invalidValue("resume_value", violations);
  const approved = isRecord(value) ? value["approved"] : undefined;
  if (typeof approved !== "boolean" || approved === (status === "accepted")) return undefined;
  return fail("/approved", "const", `contradicts the status ${JSON.stringify(status)}`);
}

/** The run under way again, or why it is not. */
async function resume(
  { agent, register, follower, closing, maxWaitMs }: HostedRuns,
  { runId, upstreamRunId }: AgentRun,
  call: Call,
): Promise<AgentRun | HandlerResult> {
  // Somebody may have been quicker.
  const run = register.find(runId);
  if (run?.status !== "interrupted") return run === undefined ? runNotFound() : notWaiting(run);
  const signal = AbortSignal.any([closing, AbortSignal.timeout(maxWaitMs)]);
  const answer = await agent.client.resumeRun(upstreamRunId, call.input["resume_value"], signal);
  if (answer.kind === "failed") {
    const seen = await follower.reconsider(run, agent, closing, { isForced: true });
    if (seen.status === "interrupted") return upstreamError(call, answer, runId);
    // The word may have arrived though its receipt did not; else it came too late.
    return isUncertain(answer) ? seen : notWaiting(seen);
  }
  await register.record(runId, [wordEvent(call)]);
  const deadlineAt = Date.now() + agent.timeoutMs;
  const change = { status: "pending", deadlineAt, interrupt: undefined } as const;
  const resumed = await register.change(runId, ["interrupted"], change, {});
  if (resumed !== undefined && !isSettled(resumed)) follower.follow(resumed, agent);
  return resumed ?? run;
}

function isUncertain({ error }: AcpFailure): boolean {
  const silent = ["upstream_timeout", "upstream_connection_error", "upstream_malformed_response"];
  return silent.includes(error);
}

function wordEvent({ input, agentId }: Call) {
  const { status, reason } = input;
  return { type: "confirmation", status, by: agentId, ...(reason === undefined ? {} : { reason }) };
}

function notWaiting(run: AgentRun): HandlerResult {
  const message = `the run is ${run.status}, and does not wait for an answer`;
  return runConflict("run_not_interrupted", message, run);
}
