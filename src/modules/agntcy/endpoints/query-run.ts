/**
 * QUERY on a run, and on what happened in it: its owner's view, and that of operators who may see
 * everything. Reading may find that the agent's server has changed its mind, and then the run goes on.
 * 404 for whoever has no such run.
 */

import { badRequest } from "../../../dispatch/refusals/refusal.ts";
import type { RouteHandler } from "../../../dispatch/route.ts";
import { isOver } from "../runs/run.ts";
import { MAX_EVENTS_PAGE, USUAL_EVENTS_PAGE } from "./endpoint-schemas.ts";
import type { HostedRuns } from "./hosted-runs.ts";
import { findRun, refuse, runNotFound, showRun } from "./run-answers.ts";

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
