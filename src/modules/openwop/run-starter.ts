/**
 * Between an agent's endpoint and the runs: dispatching an agent starts a run of one node, which is
 * the same run that POST /v1/runs would start.   OpenWOP RFC 0072 §B
 */
import type { JsonRecord } from "../../base/json-value.ts";
import type { RunOwner } from "./agent-executor.ts";

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

/** A run that goes on without the caller: it is pending, running, or waiting for an answer. */
export interface AcceptedRun {
  readonly runId: string;
  readonly status: string;
  readonly eventsUrl: string;
  /** The interrupt that it waits for, as the run's snapshot has it. */
  readonly interrupt?: JsonRecord;
}

/** Why a run was not started, or did not come to a result. */
export interface RunError {
  readonly code: string;
  readonly message: string;
  readonly details?: JsonRecord;
}

/** The state of a dispatch once the waiting is over. */
export type RunStart =
  | { readonly kind: "accepted"; readonly run: AcceptedRun }
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

/** Starts runs; a run that was answered for survives the process. */
export interface RunStarter {
  start(request: RunRequest): Promise<RunStart>;
}
