/**
 * The parts that the endpoints of one agent work with, and their answers about runs. A run that is not
 * the caller's is not there. The codes are those of runs, which their owners look out for; the statuses
 * are the protocol's.
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
  /** The place where questions of runs are answered. */
  readonly desk: InterruptDesk;
  /** A handler has to be done by then. */
  readonly maxWaitMs: number;
  /** Ends what is asked of the agent's server for nobody in particular. */
  readonly closing: AbortSignal;
  /** Aborted when nobody is to wait for a run any more: the server begins to stop. */
  readonly stopping: AbortSignal;
  /** Why the agent does not act for now: its identity may be suspended or retired. */
  findInactive(): AgentUnavailable | undefined;
}

/** Asks the agent's server something, for as long as a call may take and this server is there. */
export function askServer<T>(
  { closing, maxWaitMs }: Pick<HostedRuns, "closing" | "maxWaitMs">,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return within({ signals: [closing], timeoutMs: maxWaitMs }, ask);
}

/** Waits for a run, as long as the caller stays and nobody is told to leave. */
export function awaitSettled(
  { register, stopping }: Pick<HostedRuns, "register" | "stopping">,
  runId: string,
  timeoutMs: number,
  caller: AbortSignal,
): Promise<void> {
  return register.stopped(runId, { signals: [caller, stopping], timeoutMs });
}

/** The share of the caller's waiting time that is left for the run itself. */
export function remainingWait(
  { maxWaitMs }: Pick<HostedRuns, "maxWaitMs">,
  waitSeconds: unknown,
  startedAt: number,
): number {
  const wanted = typeof waitSeconds === "number" ? waitSeconds * 1000 : 0;
  return Math.min(wanted, Math.max(0, maxWaitMs - (performance.now() - startedAt)));
}

/** A refusal as the handler of an endpoint answers it. */
export function refuse(from: Refusal): HandlerSuccess {
  return { status: from.status, body: refusalBody(from) };
}

/** 404: no run of the caller's. */
export function runNotFound(): HandlerSuccess {
  return refuse(refusal(404, "run_not_found", "no run of yours has this id"));
}

/** 404: no thread of the caller's. */
export function threadNotFound(): HandlerSuccess {
  return refuse(refusal(404, "thread_not_found", "no thread of yours has this id"));
}

/** 409: a run stands in another way than this needs. */
export function runConflict(code: string, message: string, run: AgentRun): HandlerSuccess {
  const { runId, status } = run;
  return refuse(refusal(409, code, message, { details: { run_id: runId, status } }));
}

/** 429: so many are under way that no more are begun. */
export function tooMany(scope: "runs" | "threads"): HandlerSuccess {
  const message = `too many ${scope} are kept for you or for this agent, try again later`;
  return refuse(refusal(429, "rate-limited", message, { carried: { scope } }));
}

/** 422: a `resume_value` is not what the agent's manifest says. */
export function invalidResumeValue(
  violations: Parameters<typeof schemaViolation>[0],
): HandlerSuccess {
  return refuse(
    schemaViolation(violations.map((one) => ({ ...one, path: `/resume_value${one.path}` }))),
  );
}

/** A named error for a call to the agent's server that came to nothing. */
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

/** The run that a call names, if it is the caller's, or the caller may see them all. */
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

/** The run that a call names, whoever calls. */
export function namedRun(
  register: Pick<AgentRuns, "find">,
  base: string,
  call: Call,
): AgentRun | undefined {
  const run = register.find(String(call.input["run_id"]));
  return run?.base === base ? run : undefined;
}

type ShownWith = Pick<HostedRuns, "register" | "agent" | "desk">;

/** The run as it is, in full. */
export async function showRun(
  { register, agent: { manifest }, desk }: ShownWith,
  run: AgentRun,
): Promise<Record<string, unknown>> {
  const asked = manifest.specs.interrupts.find(({ type }) => type === run.interrupt?.type);
  const view = runView(run, await register.result(run.runId), asked?.resume.schema);
  const escalation = await desk.escalationOf(run);
  return escalation === undefined ? view : { ...view, escalation_id: escalation.escalationId };
}

/** The answer to the caller that began a run, or went on with it. */
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
