/**
 * A run of an AGNTCY agent: started by one caller, done by the agent's own server, and known here by
 * an id of this server's making; and these runs as a kind of runs: their statuses, how long they are
 * kept, and their events. `error` may still become something else: its server tries again.
 * Agent Connect Protocol "Run"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { UpstreamError } from "../../../endpoint/endpoint.ts";
import type { EventRules, RunKind, StatusMachine } from "../../../runs/run-kind.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
import type { RunAddress } from "../acp/acp-client.ts";

/** The status of a run. `timeout`: it took longer than the operator allows. */
export const RUN_STATES = [
  "pending",
  "interrupted",
  "success",
  "error",
  "timeout",
  "cancelled",
] as const;
export type RunState = (typeof RUN_STATES)[number];

/** Why a run came to nothing. */
export interface RunError {
  readonly code: UpstreamError | "agent_run_failed";
  readonly message: string;
  /** As the agent's server has them. */
  readonly errcode?: number;
  readonly description?: string;
}

/** The facts of a run that are known without its result. */
export interface AgentRun {
  readonly runId: string;
  /** The path that its agent is served on. */
  readonly base: string;
  /** The Agent-ID that started it. */
  readonly owner: string;
  /** The agents that had the owner start it, the oldest first; undefined: it did so for itself. */
  readonly delegatedBy?: readonly string[];
  /** The principal of the token that it was started with. */
  readonly principalId?: string;
  /** The origin of the owner's request, if this server does not know the owner. */
  readonly stranger?: string;
  /** The agent with its server. */
  readonly upstreamAgentId: string;
  /** The run with that server. */
  readonly upstreamRunId: string;
  /** This server's id of the thread. */
  readonly threadId?: string;
  readonly upstreamThreadId?: string;
  readonly status: RunState;
  /** It has its place, and its server is being asked: nobody knows of it, here or there. */
  readonly isBeginning?: boolean;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly updatedAt: number;
  /** Until when a pending run is waited for. */
  readonly deadlineAt: number;
  readonly error?: RunError;
  /** The question that it waits for an answer to. */
  readonly interrupt?: { readonly interruptId: string; readonly type: string };
  /**
   * An answer to it was sent, and nobody knows what became of it: what the run waits for now has to be
   * asked anew before it is answered.
   */
  readonly isAnswerSent?: boolean;
  readonly eventCount: number;
  readonly eventBytes: number;
  /** Something may have happened in it before anybody listened. */
  readonly mayLackEvents?: boolean;
  /** True if more came than is kept. */
  readonly isTruncated: boolean;
  /** The octets of its result in the store. */
  readonly resultBytes: number;
}

/** The outcome of a run, or the question that it asks. */
export interface RunResult {
  readonly output?: unknown;
  readonly payload?: unknown;
}

/** Something that happened in a run; keys are the wire's own. */
export interface RunEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** The run as its server knows it. */
export function addressOf({ upstreamRunId, upstreamThreadId }: AgentRun): RunAddress {
  return { runId: upstreamRunId, threadId: upstreamThreadId };
}

/** Tells whether nothing is under way. */
export function isSettled({ status }: Pick<AgentRun, "status">): boolean {
  return status !== "pending";
}

/** Tells whether nothing more is expected, though an `error` may be overturned. */
export function isOver({ status }: Pick<AgentRun, "status">): boolean {
  return status !== "pending" && status !== "interrupted";
}

/** A run as its owner sees it. `resumeSchema` is that of the interrupt that it waits for. */
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

/** Why a run failed; what its server may yet make of it is said. */
export function errorView({ code, message, ...more }: RunError): Record<string, unknown> {
  const canChange = code === "agent_run_failed";
  return { code, message, ...more, ...(canChange ? { may_be_retried_upstream: true } : {}) };
}

/** The collection that the results of runs lie in, by run. */
export const RESULTS = "agntcy-run-results";

/** An `error` may be overturned: its server tries again. */
const STATUSES: StatusMachine<RunState> = {
  pending: { phase: "active", next: ["interrupted", "success", "error", "timeout", "cancelled"] },
  interrupted: { phase: "waiting", next: ["pending", "error", "cancelled"], rank: 1 },
  success: { phase: "over", next: [], rank: 0 },
  error: { phase: "over", next: ["pending"], rank: 0 },
  timeout: { phase: "over", next: [], rank: 0 },
  cancelled: { phase: "over", next: [], rank: 0 },
};
/** The number of the first event of a run. */
const FIRST_EVENT = 1;
const MAX_EVENTS = 1000;

/** Statuses are small and kept however much else there was; within reason. */
export const EVENT_RULES: EventRules<RunEvent> = {
  ...{ first: FIRST_EVENT, most: MAX_EVENTS, mostBytes: 1_048_576, whenFull: "drop" },
  isNeeded: ({ type }, count) => type === "status" && count < 2 * MAX_EVENTS,
};

const DAY_MS = 86_400_000;
/**
 * The time after which a run is forgotten that is over, that waits for an answer, or whose deadline has
 * passed and whose agent is served no more.
 */
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
  // At that moment it is forgotten already.
  forgottenAt: ({ status, updatedAt, deadlineAt }) => {
    const { phase } = STATUSES[status];
    return (phase === "active" ? deadlineAt : updatedAt) + KEPT_MS[phase] - 1;
  },
  quota: { perOwner: 512, all: 4096, characters: 268_435_456 },
  sizeOf: ({ resultBytes, eventBytes }) => resultBytes + eventBytes,
  log: { events: "agntcy-run-events", first: FIRST_EVENT, doomed: "agntcy-doomed-runs" },
  entriesOf: (runId) => [{ collection: RESULTS, key: runId }],
};
