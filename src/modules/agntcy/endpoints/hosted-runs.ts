/**
 * The dependencies of an agent's endpoints, and their answers about runs. Other callers' runs are treated as missing.
 * Error codes are those of runs, statuses those of the protocol.
 */
import { within } from "../../../base/deadline.ts";
import { seesAll } from "../../../dispatch/caller/caller.ts";
import { isOwnMatter } from "../../../dispatch/caller/own-matter.ts";
import {
  type Refusal,
  refusal,
  refusalBody,
  schemaViolation,
} from "../../../dispatch/refusals/refusal.ts";
import type { ExchangeView } from "../../../dispatch/routes/route.ts";
import type {
  Call,
  HandlerError,
  HandlerResult,
  HandlerSuccess,
} from "../../../handlers/handler.ts";
import type { Collection } from "../../../state/collection.ts";
import type { AcpFailure } from "../acp/acp-call.ts";
import type { InterruptDesk } from "../interrupts/interrupt-desk.ts";
import type { AgentUnavailable, RemoteAgent } from "../remote-agent.ts";
import type { AgentRuns, AgentThread } from "../runs/agent-runs.ts";
import { type AgentRun, errorView, runView } from "../runs/run.ts";
import type { RunFollower } from "../runs/run-follower.ts";

export interface HostedRuns {
  readonly agent: RemoteAgent;
  readonly register: AgentRuns;
  readonly threads: Collection<AgentThread>;
  readonly follower: RunFollower;
  /** Answers the interrupts of runs. */
  readonly desk: InterruptDesk;
  /** The time within which a handler must answer. */
  readonly maxWaitMs: number;
  /** Aborted when this server closes; ends calls made on nobody's behalf. */
  readonly closing: AbortSignal;
  /** Aborted when the server begins to stop, so that no caller waits any longer. */
  readonly stopping: AbortSignal;
  /** The reason that the agent is inactive, such as a suspended identity, or undefined. */
  findInactive(): AgentUnavailable | undefined;
}

/** Calls the agent's server, bounded by the handler's time and this server's closing. */
export function askServer<T>(
  { closing, maxWaitMs }: Pick<HostedRuns, "closing" | "maxWaitMs">,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return within({ signals: [closing], timeoutMs: maxWaitMs }, ask);
}

/** Waits until a run is settled, the caller disconnects, or the server stops. */
export function awaitSettled(
  { register, stopping }: Pick<HostedRuns, "register" | "stopping">,
  runId: string,
  timeoutMs: number,
  caller: AbortSignal,
): Promise<void> {
  return register.stopped(runId, { signals: [caller, stopping], timeoutMs });
}

/** The rest of the caller's waiting time, in milliseconds. */
export function remainingWait(
  { maxWaitMs }: Pick<HostedRuns, "maxWaitMs">,
  waitSeconds: unknown,
  startedAt: number,
): number {
  const wanted = typeof waitSeconds === "number" ? waitSeconds * 1000 : 0;
  return Math.min(wanted, Math.max(0, maxWaitMs - (performance.now() - startedAt)));
}

/** Converts a refusal to a handler's answer. */
export function refuse(from: Refusal): HandlerSuccess {
  return { status: from.status, body: refusalBody(from) };
}

/** 404: the caller has no such run. */
export function runNotFound(): HandlerSuccess {
  return refuse(refusal(404, "run_not_found", "no run of yours has this id"));
}

/** 404: the caller has no such thread. */
export function threadNotFound(): HandlerSuccess {
  return refuse(refusal(404, "thread_not_found", "no thread of yours has this id"));
}

/** 409: the run's status does not allow this. */
export function runConflict(code: string, message: string, run: AgentRun): HandlerSuccess {
  const { runId, status } = run;
  return refuse(refusal(409, code, message, { details: { run_id: runId, status } }));
}

/** 429: no further run or thread is admitted. */
export function tooMany(scope: "runs" | "threads"): HandlerSuccess {
  const message = `too many ${scope} are kept for you or for this agent, try again later`;
  return refuse(refusal(429, "rate-limited", message, { carried: { scope } }));
}

/** 422: the `resume_value` violates the manifest's schema. */
export function invalidResumeValue(
  violations: Parameters<typeof schemaViolation>[0],
): HandlerSuccess {
  return refuse(
    schemaViolation(violations.map((one) => ({ ...one, path: `/resume_value${one.path}` }))),
  );
}

/** The named error of a failed call to the agent's server. */
export function upstreamError(
  call: Call,
  failure: AcpFailure | AgentUnavailable,
  runId?: string,
): HandlerError {
  const run = runId === undefined ? {} : { run_id: runId };
  if (failure.kind === "unavailable") {
    return { error: "agent_unavailable", message: failure.message, details: run };
  }
  const { error, message, status, detail, hint } = failure;
  call.log.warn({ error, status, detail, hint, ...run }, "an agent's server did not do as asked");
  const details = { ...(status === undefined ? {} : { status }), ...run };
  return { error, message, details };
}

/** Finds the run that a call names, if the caller may see it. */
export function findRun(
  register: Pick<AgentRuns, "find">,
  base: string,
  call: Call,
  exchange: ExchangeView,
  { seesOthers = true }: { readonly seesOthers?: boolean } = {},
): AgentRun | undefined {
  const run = namedRun(register, base, call);
  if (run === undefined) return undefined;
  const isOwn =
    call.agentId !== undefined && run.owner === call.agentId && isOwnMatter(run, exchange);
  return isOwn || (seesOthers && seesAll(exchange.caller)) ? run : undefined;
}

/** Finds the run that a call names, for any caller. */
export function namedRun(
  register: Pick<AgentRuns, "find">,
  base: string,
  call: Call,
): AgentRun | undefined {
  const run = register.find(String(call.input["run_id"]));
  return run?.base === base ? run : undefined;
}

type ShownWith = Pick<HostedRuns, "register" | "agent" | "desk">;

/** The full view of a run. */
export async function showRun(
  { register, agent: { manifest }, desk }: ShownWith,
  run: AgentRun,
): Promise<Record<string, unknown>> {
  const asked = manifest.specs.interrupts.find(({ type }) => type === run.interrupt?.type);
  const view = runView(run, await register.result(run.runId), asked?.resume.schema);
  const escalation = await desk.escalationOf(run);
  return escalation === undefined ? view : { ...view, escalation_id: escalation.escalationId };
}

/** Answers the caller that began or resumed a run. */
export async function answerRun(hosted: ShownWith, run: AgentRun): Promise<HandlerResult> {
  const { error, runId, status } = run;
  switch (status) {
    case "pending":
    case "interrupted":
      return { status: 202, body: await showRun(hosted, run) };
    case "success":
    case "cancelled":
      return { body: await showRun(hosted, run) };
    case "error":
    case "timeout": {
      const {
        code = "agent_run_failed",
        message,
        ...more
      } = error === undefined ? {} : errorView(error);
      const details = { run_id: runId, status, ...more };
      return { error: String(code), message: String(message), details };
    }
  }
}
