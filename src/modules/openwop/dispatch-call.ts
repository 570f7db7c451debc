/**
 * The outcome of a dispatch: a run that goes on (202), its result within the time that the caller
 * waits (200), or why there is none (422, by the name of the error).   OpenWOP RFC 0072 §B
 */
import { type JsonRecord, recordIn, textsIn } from "../../base/json-value.ts";
import type { Call, HandlerError, HandlerResult } from "../../handlers/handler.ts";
import type { RunError, RunOwner } from "./agent-executor.ts";
import type { ApiScope } from "./http/api-keys.ts";
import { isRefused } from "./runs/run.ts";
import type { RunHost } from "./runs/run-host.ts";
import { acceptedRun, runResult, runSnapshot } from "./runs/run-state.ts";

/** The errors that an agent's endpoint declares. */
export const DISPATCH_ERRORS = [
  "agent_unavailable",
  "agent_pin_mismatch",
  "agent_timeout",
  "agent_failed",
  "agent_not_found",
  "agent_malformed_answer",
  "handoff_task_schema_violation",
  "handoff_return_schema_violation",
  "model_unavailable",
  "model_rate_limited",
  "model_refused",
  "model_malformed_response",
  "model_not_available",
  "tool_limit_exceeded",
  "capability_not_provided",
  "validation_error",
  "rate_limited",
  "run_timeout",
  "run_cancelled",
  "run_failed",
] as const;

/** Dispatching an agent starts a run, and takes what starting one takes. */
export const START_SCOPES: readonly ApiScope[] = ["runs:create"];

const DECLARED: ReadonlySet<string> = new Set(DISPATCH_ERRORS);

/** The parts that dispatching takes. */
export interface DispatchOptions {
  readonly host: Pick<RunHost, "create" | "whileServing">;
  /** The tenant that owns the runs of AGTP callers. */
  readonly tenant: string;
  /** A handler has to be done by then. */
  readonly maxWaitMs: number;
}

/** Starts a run of an agent, which is one of one node, for whoever calls. */
export async function dispatchAgent(
  { host, tenant, maxWaitMs }: DispatchOptions,
  agentId: string,
  call: Call,
): Promise<HandlerResult> {
  const { task, configurable, tags, metadata, wait_seconds: wait } = call.input;
  const inputs = task === undefined ? {} : { task };
  const options = { configurable: recordIn(configurable), metadata: recordIn(metadata) };
  const body = { agentId, inputs, ...options, tags: textsIn(tags) };
  const log = await host.create(body, agtpOwner(tenant, call));
  if (isRefused(log)) return declared(log, "run_failed", {});
  const waitMs = typeof wait === "number" ? Math.min(wait * 1000, maxWaitMs) : 0;
  await log.atRest(host.whileServing(call.signal, waitMs));
  const { run, state } = log;
  const { status, error = { code: "run_cancelled", message: "the run was cancelled" } } = state;
  switch (status) {
    case "completed":
      return { body: { ...runSnapshot(run, state), result: runResult(state) } };
    case "failed":
    case "cancelled":
      return declared(error, `run_${status}`, { runId: run.runId, status });
    default:
      return { status: 202, body: acceptedRun(log) };
  }
}

/** The owner of a run that an AGTP caller starts. */
export function agtpOwner(tenant: string, { agentId, scopes }: Call): RunOwner {
  const principal = `agtp:${agentId ?? "nobody"}`;
  return { tenant, principal, scopes, ...(agentId === undefined ? {} : { agentId }) };
}

/** An error that the endpoint does not declare is told inside one that it does. */
function declared(
  { code, message, details = {} }: RunError,
  otherwise: string,
  run: JsonRecord,
): HandlerError {
  const isDeclared = DECLARED.has(code);
  const told = { ...details, ...run, ...(isDeclared ? {} : { code }) };
  return { error: isDeclared ? code : otherwise, message, details: told };
}
