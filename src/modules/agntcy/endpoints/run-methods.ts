/**
 * QUERY, CONFIRM and CANCEL on a run, and QUERY on its events, for its owner and for operators who may see all runs.
 * Reading may find that the server has changed its verdict, and then the run continues. 404 for runs that the caller
 * may not see.
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

/** Answers with a page of events; the Continuation-Token is the last sequence. */
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
    // True if the run is over and this page has its last event.
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

/** CANCEL, if the agent's server supports it. 200 with the run · 404 · 409 the run is over */
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
  // The run may have just ended by itself.
  return answerRun(hosted, cancelled ?? register.find(run.runId) ?? run);
}

/**
 * CONFIRM on an interrupted run: an entitled caller's decision, and the value to resume with. 200 and 202 as EXECUTE ·
 * 403 the caller may not answer · 404 · 409 the run is not interrupted · 422 the value violates the schema
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
  // Permission to answer does not include permission to see the run.
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

/** Reads the approval; the endpoint's schema has checked its members. */
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
