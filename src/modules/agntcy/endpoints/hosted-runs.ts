/** The parts that the endpoints of one agent work with. */
import { within } from "../../../base/deadline.ts";
import type { InterruptDesk } from "../interrupts/interrupt-desk.ts";
import type { AgentUnavailable, RemoteAgent } from "../remote-agent.ts";
import type { AgentRuns } from "../runs/agent-runs.ts";
import type { Patience } from "../runs/await-verdict.ts";
import type { RunFollower } from "../runs/run-follower.ts";
import type { ThreadRegister } from "../runs/thread-register.ts";

/** One agent and the runs of it. */
export interface HostedRuns {
  readonly agent: RemoteAgent;
  readonly register: AgentRuns;
  readonly threads: ThreadRegister;
  readonly follower: RunFollower;
  readonly patience: Patience;
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
