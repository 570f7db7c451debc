/**
 * A run of an AGNTCY agent: started by one caller, executed by the agent's server, and identified by an id of this
 * server. Also the statuses, retention and event rules of such runs. An `error` is not final, as the server retries.
 * Agent Connect Protocol "Run"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { UpstreamError } from "../../../endpoint/endpoint.ts";
import type { EventRules, RunKind, StatusMachine } from "../../../runs/run-kind.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
import type { RunAddress } from "../acp/acp-client.ts";

/** The status of a run; `timeout` means that the operator's limit was exceeded. */
export const RUN_STATES = [
  "pending",
  "interrupted",
  "success",
  "error",
  "timeout",
  "cancelled",
] as const;
export type RunState = (typeof RUN_STATES)[number];

/** The error of a failed run. */
export interface RunError {
  readonly code: UpstreamError | "agent_run_failed";
  readonly message: string;
  /** As the agent's server reports it. */
  readonly errcode?: number;
  readonly description?: string;
}

/** The data of a run except its result. */
export interface AgentRun {
  readonly runId: string;
  /** The path that serves its agent. */
  readonly base: string;
  /** The Agent-ID of its caller. */
  readonly owner: string;
  /** The delegators of the owner, oldest first; undefined without delegation. */
  readonly delegatedBy?: readonly string[];
  /** The principal of the token that started it. */
  readonly principalId?: string;
  /** The origin of an unknown owner's request. */
  readonly stranger?: string;
  /** The agent's id at its server. */
  readonly upstreamAgentId: string;
  /** The run's id at that server. */
  readonly upstreamRunId: string;
  /** This server's id of the thread. */
  readonly threadId?: string;
  readonly upstreamThreadId?: string;
  readonly status: RunState;
  /** True while its server is being called: the run is not visible yet. */
  readonly isBeginning?: boolean;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly updatedAt: number;
  /** The time until which a pending run is awaited. */
  readonly deadlineAt: number;
  readonly error?: RunError;
  /** The open interrupt. */
  readonly interrupt?: { readonly interruptId: string; readonly type: string };
  /** True if an answer was sent without a known effect: the interrupt must be read again before it is answered. */
  readonly isAnswerSent?: boolean;
  readonly eventCount: number;
  readonly eventBytes: number;
  /** True if events may have been missed before streaming began. */
  readonly mayLackEvents?: boolean;
  /** True if events were dropped. */
  readonly isTruncated: boolean;
  /** The size of its stored result in octets. */
  readonly resultBytes: number;
}

/** The output of a run, or the payload of its interrupt. */
export interface RunResult {
  readonly output?: unknown;
  readonly payload?: unknown;
}

/** An event of a run; keys are the protocol's. */
export interface RunEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** The run's ids at its server. */
export function addressOf({ upstreamRunId, upstreamThreadId }: AgentRun): RunAddress {
  return { runId: upstreamRunId, threadId: upstreamThreadId };
}

/** Tells whether a run is not pending. */
export function isSettled({ status }: Pick<AgentRun, "status">): boolean {
  return status !== "pending";
}

/** Tells whether a run has ended, although an `error` may be overturned. */
export function isOver({ status }: Pick<AgentRun, "status">): boolean {
  return status !== "pending" && status !== "interrupted";
}

/** A run as its owner sees it; `resumeSchema` is that of the open interrupt. */
export function runView(
  run: AgentRun,
  result: RunResult,
  resumeSchema: JsonRecord | undefined,
): Record<string, unknown> {
  const { error, interrupt, threadId } = run;
  return {
    run_id: run.runId,
    status: run.status,
    created_at: new Date(run.startedAt).toISOString(),
    updated_at: new Date(run.updatedAt).toISOString(),
    ...(threadId === undefined ? {} : { thread_id: threadId }),
    ...(run.status === "success" ? { output: result.output ?? null } : {}),
    ...(run.status === "interrupted" && interrupt !== undefined
      ? {
          interrupt_id: interrupt.interruptId,
          interrupt_type: interrupt.type,
          payload: result.payload ?? null,
          resume_schema: resumeSchema ?? {},
        }
      : {}),
    ...(error === undefined ? {} : { error: errorView(error) }),
  };
}

/** The error of a run, noting if it may be overturned. */
export function errorView({ code, message, ...more }: RunError): Record<string, unknown> {
  const canChange = code === "agent_run_failed";
  return { code, message, ...more, ...(canChange ? { may_be_retried_upstream: true } : {}) };
}

/** The collection of runs' results, by run. */
export const RESULTS = "agntcy-run-results";

/** An `error` may be overturned, since the server retries. */
const STATUSES: StatusMachine<RunState> = {
  pending: { phase: "active", next: ["interrupted", "success", "error", "timeout", "cancelled"] },
  interrupted: { phase: "waiting", next: ["pending", "error", "cancelled"], rank: 1 },
  success: { phase: "over", next: [], rank: 0 },
  error: { phase: "over", next: ["pending"], rank: 0 },
  timeout: { phase: "over", next: [], rank: 0 },
  cancelled: { phase: "over", next: [], rank: 0 },
};
/** The sequence of a run's first event. */
const FIRST_EVENT = 1;
const MAX_EVENTS = 1000;

/** Status events are small and stored even beyond the limit, up to a bound. */
export const EVENT_RULES: EventRules<RunEvent> = {
  ...{ first: FIRST_EVENT, most: MAX_EVENTS, mostBytes: 1_048_576, whenFull: "drop" },
  isNeeded: ({ type }, count) => type === "status" && count < 2 * MAX_EVENTS,
};

const DAY_MS = 86_400_000;
/** How long runs are kept that are over, that wait for an answer, or whose deadline has passed without a server. */
const KEPT_MS = { active: 7 * DAY_MS, waiting: 30 * DAY_MS, over: 7 * DAY_MS };

const readRecord = recordReader<AgentRun>({
  ...{ runId: "string", base: "string", owner: "string", status: "string" },
  ...{ upstreamAgentId: "string", upstreamRunId: "string" },
  ...{ startedAt: "number", updatedAt: "number", deadlineAt: "number" },
  ...{ eventCount: "number", eventBytes: "number" },
});

export const AGENT_RUNS: RunKind<AgentRun, RunState> = {
  name: "agntcy-runs",
  read: (value) => {
    const run = readRecord(value);
    return run !== undefined && Object.hasOwn(STATUSES, run.status) ? run : undefined;
  },
  statuses: STATUSES,
  statusOf: ({ status }) => status,
  idOf: ({ runId }) => runId,
  ownerOf: ({ owner }) => owner,
  orderOf: ({ startedAt }) => startedAt,
  // Exclusive: at that moment the run is already forgotten.
  forgottenAt: ({ status, updatedAt, deadlineAt }) => {
    const { phase } = STATUSES[status];
    return (phase === "active" ? deadlineAt : updatedAt) + KEPT_MS[phase] - 1;
  },
  quota: { perOwner: 512, all: 4096, characters: 268_435_456 },
  sizeOf: ({ resultBytes, eventBytes }) => resultBytes + eventBytes,
  log: { events: "agntcy-run-events", first: FIRST_EVENT, doomed: "agntcy-doomed-runs" },
  entriesOf: (runId) => [{ collection: RESULTS, key: runId }],
};
