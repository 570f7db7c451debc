/**
 * Dispatching an agent is a run of one node, over AGTP as over HTTP.
 * OpenWOP RFC 0072 §B
 */

import type { JsonRecord } from "../../../base/json-value.ts";
import type { RunError, RunOwner } from "../agent-executor.ts";
import type { RunHost } from "./run-host.ts";
import type { RunLog } from "./run-log.ts";
import { isRefused } from "./run-refusal.ts";
import { acceptedRun, runResult, runSnapshot } from "./run-snapshot.ts";

/** Starts runs of agents. */
export function agentRuns(host: RunHost): StartRun {
  return async ({ agentId, task, owner, waitSeconds, signal, ...options }) => {
    const inputs = task === undefined ? {} : { task };
    const log = await host.create({ agentId, inputs, ...options }, owner);
    if (isRefused(log)) {
      const { kind: _, ...error } = log;
      return { kind: "refused", error };
    }
    await log.atRest(host.whileServing(signal, waitSeconds * 1000));
    return outcomeOf(log);
  };
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

/** One dispatch of an agent. */
export interface RunRequest {
  readonly agentId: string;
  readonly task: unknown;
  /** The run's `configurable`, its reserved keys unchecked. */
  readonly configurable: JsonRecord;
  readonly tags: readonly string[];
  readonly metadata: JsonRecord;
  readonly owner: RunOwner;
  /** The time that the caller waits for the end of the run; 0: not at all. */
  readonly waitSeconds: number;
  /** The caller's: it ends the waiting, never the run. */
  readonly signal: AbortSignal;
}

/** The state of a dispatch once the waiting is over. */
export type RunStart =
  | { readonly kind: "accepted"; readonly run: JsonRecord }
  /** `run` is its snapshot; `result` what the agent's turn came to. */
  | { readonly kind: "completed"; readonly run: JsonRecord; readonly result: unknown }
  /** It was kept, and has failed or was cancelled. */
  | {
      readonly kind: "ended";
      readonly runId: string;
      readonly status: "failed" | "cancelled";
      readonly error: RunError;
    }
  /** Nothing was kept. */
  | { readonly kind: "refused"; readonly error: RunError };

/** Starts a run; one that was answered for survives the process. */
export type StartRun = (request: RunRequest) => Promise<RunStart>;
