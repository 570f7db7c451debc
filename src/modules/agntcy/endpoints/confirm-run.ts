/**
 * CONFIRM on a run that stopped to ask: the decision of somebody who may answer it, and the value that the
 * agent goes on with.
 * 200 and 202 as EXECUTE · 403 not the caller's to answer · 404 · 409 the run does not wait · 422 the
 * value is not what was asked for
 */
import type { ExchangeView } from "../../../dispatch/route.ts";
import type { Call, HandlerResult } from "../../../handlers/handler.ts";
import { answerInterrupt, notWaiting } from "../interrupts/answer-interrupt.ts";
import type { Approval } from "../interrupts/interrupt-desk.ts";
import { awaitSettled, type HostedRuns, remainingWait } from "./hosted-runs.ts";
import { answerRun, findRun, refuse, runNotFound } from "./run-answers.ts";

/** Answers CONFIRM. */
export async function confirmRun(
  hosted: HostedRuns,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerResult> {
  const { agent, register, desk } = hosted;
  const startedAt = performance.now();
  const known = findRun(register, agent.base, call, exchange);
  if (known === undefined) return runNotFound();
  if (known.status !== "interrupted") return notWaiting(known);
  const authority = desk.authorityOver(known, agent, exchange);
  if (typeof authority !== "string") return refuse(authority);
  const { interrupt_id: interruptId } = call.input;
  const answered = await answerInterrupt(hosted, {
    runId: known.runId,
    interruptId: typeof interruptId === "string" ? interruptId : undefined,
    approval: approvalOf(call, authority, exchange),
    call,
  });
  if ("refused" in answered) return answered.refused;
  const { runId, status } = answered.run;
  if (status === "pending") {
    const waitMs = remainingWait(hosted, call.input["wait_seconds"], startedAt);
    await awaitSettled(hosted, runId, waitMs, call.signal);
  }
  return answerRun(hosted, register.find(runId) ?? answered.run);
}

/** The schema of the endpoint has checked what it is made of. */
function approvalOf(
  call: Call,
  authority: Approval["authority"],
  exchange: ExchangeView,
): Approval {
  const { status, reason } = call.input;
  return {
    status: status === "accepted" || status === "rejected" ? status : "deferred",
    authority,
    ...(typeof reason === "string" ? { reason } : {}),
    ...(call.agentId === undefined ? {} : { agentId: call.agentId }),
    source: { call, exchange },
  };
}
