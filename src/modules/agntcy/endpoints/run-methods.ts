/**
 * QUERY, CONFIRM and CANCEL on a run, and QUERY on what happened in it: its owner's view, and that
 * of operators who may see everything. Reading may find that the agent's server has changed its
 * mind, and then the run goes on. 404 for whoever has no such run.
 */
import { given, textIn } from "../../../base/json-value.ts";
import { badRequest } from "../../../dispatch/refusals/refusal.ts";
import type { ExchangeView, RouteHandler } from "../../../dispatch/routes/route.ts";
import type { Call, HandlerResult } from "../../../handlers/handler.ts";
import { answerInterrupt, notWaiting } from "../interrupts/answer-interrupt.ts";
import type { Approval } from "../interrupts/interrupt-desk.ts";
import { addressOf, isOver } from "../runs/run.ts";
import { MAX_EVENTS_PAGE, USUAL_EVENTS_PAGE } from "./endpoint-schemas.ts";
import {
  answerRun,
  askServer,
  awaitSettled,
  findRun,
  type HostedRuns,
  namedRun,
  refuse,
  remainingWait,
  runConflict,
  runNotFound,
  showRun,
  upstreamError,
} from "./hosted-runs.ts";

/** Answers with the run. */
export function queryRun(hosted: HostedRuns): RouteHandler {
  const { agent, register, follower } = hosted;
  return async (call, exchange) => {
    const run = findRun(register, agent.base, call, exchange);
    if (run === undefined) return runNotFound();
    const now = await follower.review.reconsider(run, agent, call.signal);
    return { body: await showRun(hosted, now) };
  };
}

/** Answers with a page of its events; the token names the last one that the caller has. */
export function queryEvents({ agent, register }: HostedRuns): RouteHandler {
  return async (call, exchange) => {
    const run = findRun(register, agent.base, call, exchange);
    if (run === undefined) return runNotFound();
    const token = call.input["continuation_token"] ?? exchange.header("continuation-token") ?? "0";
    if (!/^\d{1,8}$/.test(String(token))) {
      return refuse(badRequest("invalid-query", "the Continuation-Token is none of this server's"));
    }
    const { limit = USUAL_EVENTS_PAGE } = call.input;
    const count = Math.min(Number(limit), MAX_EVENTS_PAGE);
    const events = await register.events(run.runId, Number(token), count);
    const last = Math.max(Number(token), ...events.map((event) => Number(event["sequence"])));
    const { status, eventCount, isTruncated, mayLackEvents } = register.find(run.runId) ?? run;
    // At the end nothing is to come: neither on the next page nor from the run.
    const isAtEnd = isOver({ status }) && last >= eventCount;
    return {
      body: {
        run_id: run.runId,
        status,
        events,
        is_over: isAtEnd,
        is_complete: isAtEnd && !isTruncated && mayLackEvents !== true,
        ...(isTruncated ? { is_truncated: true } : {}),
        ...(mayLackEvents === true ? { may_lack_events: true } : {}),
        continuation_token: String(last),
      },
      headers: { "Continuation-Token": String(last) },
    };
  };
}

/** CANCEL, where the agent's server calls runs off. 200 with the run · 404 · 409 it is over */
export async function cancelRun(
  hosted: HostedRuns,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerResult> {
  const { agent, register } = hosted;
  const run = findRun(register, agent.base, call, exchange, { seesOthers: false });
  if (run === undefined) return runNotFound();
  if (run.status === "cancelled") return answerRun(hosted, run);
  if (isOver(run)) return runConflict("run_over", `the run is over: ${run.status}`, run);
  const answer = await askServer(hosted, (signal) =>
    agent.client.cancelRun(addressOf(run), signal),
  );
  if (answer.kind === "failed") return upstreamError(call, answer, run.runId);
  const change = { status: "cancelled", interrupt: undefined } as const;
  const expected = ["pending", "interrupted"] as const;
  const cancelled = await register.change(run.runId, change, { expected, result: {} });
  // It may have come to its end a moment before.
  return answerRun(hosted, cancelled ?? register.find(run.runId) ?? run);
}

/**
 * CONFIRM on a run that stopped to ask: the decision of somebody who may answer it, and the value
 * that the agent goes on with. 200 and 202 as EXECUTE · 403 not the caller's to answer · 404 · 409
 * the run does not wait · 422 the value is not what was asked for
 */
export async function confirmRun(
  hosted: HostedRuns,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerResult> {
  const { agent, register, desk } = hosted;
  const startedAt = performance.now();
  const known = namedRun(register, agent.base, call);
  if (known === undefined) return runNotFound();
  const authority = desk.authorityOver(known, agent, exchange);
  const mayAnswer = typeof authority === "string";
  // The right to answer a run's question is not the right to see the rest of it.
  if (!mayAnswer && findRun(register, agent.base, call, exchange) === undefined) {
    return runNotFound();
  }
  if (known.status !== "interrupted") return notWaiting(known);
  if (!mayAnswer) return refuse(authority);
  const { interrupt_id: interruptId } = call.input;
  const operator = desk.operatorOf(exchange);
  const answered = await answerInterrupt(hosted, {
    runId: known.runId,
    interruptId: textIn(interruptId),
    approval: { ...approvalOf(call, authority, exchange), ...given({ operator }) },
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
    cause: { call, exchange },
  };
}
