/**
 * Answers an interrupted run. The value is always the answerer's own, never derived from the approval, and must match
 * the schema of the open interrupt. Of two concurrent answers, one resumes the run. 409 the run is not interrupted ·
 * 422 the value violates the schema
 */
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../base/json-value.ts";
import type { Call, HandlerResult } from "../../../handlers/handler.ts";
import type { AcpFailure } from "../acp/acp-call.ts";
import {
  askServer,
  type HostedRuns,
  invalidResumeValue,
  runConflict,
  runNotFound,
  upstreamError,
} from "../endpoints/hosted-runs.ts";
import { type AgentUnavailable, streams } from "../remote-agent.ts";
import { type AgentRun, addressOf, isSettled, type RunResult } from "../runs/run.ts";
import type { Approval } from "./interrupt-desk.ts";

interface Answer {
  readonly runId: string;
  /** The interrupt that is meant; undefined for the open one. */
  readonly interruptId: string | undefined;
  readonly approval: Approval;
  /** The CONFIRM call, with or without `resume_value`. */
  readonly call: Call;
}

/** Returns the run after the answer, or the refusal. */
export async function answerInterrupt(
  hosted: HostedRuns,
  answer: Answer,
): Promise<{ readonly run: AgentRun } | { readonly refused: HandlerResult }> {
  const { register, follower, findInactive } = hosted;
  const { runId, call } = answer;
  const known = register.find(runId);
  if (known === undefined) return { refused: runNotFound() };
  if (known.status !== "interrupted") return { refused: notWaiting(known) };
  const inactive = findInactive();
  if (inactive !== undefined) return { refused: upstreamError(call, inactive, runId) };
  const answered = await follower.review.exclusively(runId, () => give(hosted, answer));
  if (answered === undefined) return { refused: notWaiting(known) };
  return "runId" in answered ? { run: answered } : { refused: answered };
}

async function give(hosted: HostedRuns, answer: Answer): Promise<AgentRun | HandlerResult> {
  const { agent, register, follower, closing } = hosted;
  const { runId, call, approval } = answer;
  // Read again: another answer may have been faster.
  const known = register.find(runId);
  if (known === undefined) return runNotFound();
  const before = await register.result(runId);
  const run =
    known.isAnswerSent === true
      ? await follower.review.reconsider(known, agent, closing, { isForced: true })
      : known;
  if (run.status !== "interrupted") return notWaiting(run);
  if (run.isAnswerSent === true) return upstreamError(call, UNKNOWN_FATE, runId);
  const { interruptId: meant = run.interrupt?.interruptId } = answer;
  const isAsked =
    run === known
      ? meant === run.interrupt?.interruptId
      : isSame(before, await register.result(runId));
  if (!isAsked) return askingAnother(run);
  const fault = checkValue(hosted, run, answer);
  if (fault !== undefined) return fault;
  if (approval.status === "deferred") {
    await register.record(runId, [confirmationEvent(approval)]);
    await hosted.desk.defer(run.interrupt?.interruptId ?? "", approval);
    return run;
  }
  const takeBack = hosted.desk.note(run.interrupt?.interruptId ?? "", approval);
  try {
    return await resume(hosted, run, answer);
  } finally {
    takeBack();
  }
}

/** Refused, since an answer to the wrong interrupt may do harm. */
const UNKNOWN_FATE: AcpFailure = {
  kind: "failed",
  error: "upstream_connection_error",
  message: "the upstream does not tell whether an earlier answer has arrived",
};

function checkValue(
  { agent }: HostedRuns,
  run: AgentRun,
  { call, approval: { status } }: Answer,
): HandlerResult | undefined {
  const { input } = call;
  const value = input["resume_value"];
  const isThere = Object.hasOwn(input, "resume_value");
  const fail = (path: string, keyword: string, message: string) =>
    invalidResumeValue([{ path, keyword, message }]);
  if (status === "deferred") {
    return isThere
      ? fail("", "not", "must be absent, because a deferred run goes on waiting")
      : undefined;
  }
  if (!isThere) return fail("", "required", "is required: what the agent is to go on with");
  const asked = agent.manifest.specs.interrupts.find(({ type }) => type === run.interrupt?.type);
  if (asked === undefined) return upstreamError(call, undeclared(run), run.runId);
  const violations = asked.resume.check(value);
  if (violations !== undefined) return invalidResumeValue(violations);
  const approved = isRecord(value) ? value["approved"] : undefined;
  if (typeof approved !== "boolean" || approved === (status === "accepted")) return undefined;
  return fail("/approved", "const", `contradicts the status ${JSON.stringify(status)}`);
}

/**
 * Resumes the run, or returns the reason that it does not. `isAnswerSent` is stored before sending: if sending is
 * interrupted, the next answer cannot go to an unseen interrupt.
 */
async function resume(
  hosted: HostedRuns,
  { runId }: AgentRun,
  { call, approval }: Answer,
): Promise<AgentRun | HandlerResult> {
  const { agent, register, follower, closing } = hosted;
  const before = await register.result(runId);
  const sent = await register.change(
    runId,
    { isAnswerSent: true },
    // Another answer may be in flight.
    { expected: ["interrupted"], unless: (run) => run.isAnswerSent === true },
  );
  if (sent === undefined) {
    const now = register.find(runId);
    return now === undefined ? runNotFound() : notWaiting(now);
  }
  const receipt = await askServer(hosted, (signal) =>
    agent.client.resumeRun(addressOf(sent), call.input["resume_value"], signal),
  );
  const isLost = receipt.kind === "failed" && isUncertain(receipt);
  if (receipt.kind === "failed") {
    const refused = isLost
      ? undefined
      : await register.change(runId, { isAnswerSent: undefined }, { expected: ["interrupted"] });
    const seen = await follower.review.reconsider(refused ?? sent, agent, closing, {
      isForced: true,
    });
    const isStill = seen.isAnswerSent === true || isSame(before, await register.result(runId));
    if (seen.status === "interrupted" && isStill) return upstreamError(call, receipt, runId);
    // An unreceipted answer may still have arrived; a refused one came too late.
    if (!isLost) return seen.status === "interrupted" ? askingAnother(seen) : notWaiting(seen);
    await register.record(runId, [confirmationEvent(approval)]);
    return seen;
  }
  await register.record(runId, [confirmationEvent(approval)]);
  const deadlineAt = Date.now() + agent.timeoutMs;
  const change = {
    ...({ status: "pending", deadlineAt } as const),
    ...{ interrupt: undefined, isAnswerSent: undefined },
    // Streaming restarts only after the resumption, so events may be missed.
    ...(streams(agent.manifest) ? { mayLackEvents: true } : {}),
  };
  const resumed = await register.change(runId, change, { expected: ["interrupted"], result: {} });
  if (resumed !== undefined && !isSettled(resumed)) follower.follow(resumed);
  return resumed ?? register.find(runId) ?? sent;
}

/** Tells whether a run has the same payload and so presumably the same interrupt. */
function isSame(before: RunResult, now: RunResult): boolean {
  return isDeepStrictEqual(before.payload, now.payload);
}

/** Tells whether the answer may have arrived despite the failure. */
function isUncertain({ error, status = 0 }: AcpFailure): boolean {
  const silent = ["upstream_timeout", "upstream_connection_error", "upstream_malformed_response"];
  return silent.includes(error) || status >= 500;
}

function confirmationEvent({ status, reason, agentId, authority }: Approval) {
  const by = agentId ?? authority;
  return { type: "confirmation", status, by, ...(reason === undefined ? {} : { reason }) };
}

/** The manifest no longer declares the interrupt, so an answer cannot be validated. */
function undeclared({ interrupt }: AgentRun): AgentUnavailable {
  const type = JSON.stringify(interrupt?.type);
  return {
    kind: "unavailable",
    message: `the agent's manifest does not declare the interrupt ${type} any more`,
  };
}

function askingAnother(run: AgentRun): HandlerResult {
  const message = "the run waits for an answer to another question by now";
  return runConflict("run_not_interrupted", message, run);
}

/** 409: the run is not interrupted, or its answer is in flight. */
export function notWaiting(run: AgentRun): HandlerResult {
  const message =
    run.status === "interrupted"
      ? "an answer to what the run asks is on its way already"
      : `the run is ${run.status}, and does not wait for an answer`;
  return runConflict("run_not_interrupted", message, run);
}
