/**
 * Dispatching an agent is a run of one node, over AGTP as over HTTP.
 * OpenWOP RFC 0072 §B
 */
import type { AcceptedRun, RunRequest, RunStart, RunStarter } from "../run-starter.ts";
import type { RunHost } from "./run-host.ts";
import type { RunLog } from "./run-log.ts";
import { isRefused } from "./run-refusal.ts";
import { interruptView, openInterrupt, runResult, runSnapshot } from "./run-snapshot.ts";

/** Starts runs of agents. */
export function agentRuns(host: RunHost): RunStarter {
  return { start: (request) => start(host, request) };
}

async function start(host: RunHost, request: RunRequest): Promise<RunStart> {
  const { agentId, task, configurable, tags, metadata, owner, waitSeconds, signal } = request;
  const inputs = task === undefined ? {} : { task };
  const log = await host.create({ agentId, inputs, configurable, tags, metadata }, owner);
  if (isRefused(log)) {
    const { kind: _, ...error } = log;
    return { kind: "refused", error };
  }
  await log.atRest(host.whileServing(signal, waitSeconds * 1000));
  return outcomeOf(log);
}

/** How far the run has come once the waiting is over. */
function outcomeOf(log: RunLog): RunStart {
  const { run, state } = log;
  const { runId } = run;
  switch (state.status) {
    case "completed":
      return { kind: "completed", run: runSnapshot(run, state), result: runResult(state) };
    case "failed":
    case "cancelled": {
      const { status, error = { code: "run_cancelled", message: "the run was cancelled" } } = state;
      return { kind: "ended", runId, status, error };
    }
    default:
      return { kind: "accepted", run: acceptedRun(log) };
  }
}

/** The facts that are told of a run that goes on. */
export function acceptedRun({ run: { runId }, state }: RunLog): AcceptedRun {
  const interrupt = openInterrupt(state);
  return {
    ...{ runId, status: state.status, eventsUrl: `/runs/${runId}/events` },
    ...(interrupt === undefined ? {} : { interrupt: interruptView(interrupt) }),
  };
}
