/** Runs of AGNTCY agents as a kind of runs: their statuses, how long they are kept, and their events. */
import type { EventRules } from "../../../runs/number-events.ts";
import type { RunKind, StatusMachine } from "../../../runs/run-kind.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
import type { AgentRun, RunEvent, RunState } from "./run.ts";

/** Limits of the number of runs that are kept, and of the time. */
interface KeptLimits {
  /** Of one caller and in all. */
  readonly perOwner: number;
  readonly all: number;
  /** Of results and events in all. */
  readonly bytes: number;
  /** The time after which a run is forgotten that is over, or that waits for an answer. */
  readonly overMs: number;
  readonly interruptedMs: number;
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

/** The kind. */
export function agentRunKind(limits: KeptLimits): RunKind<AgentRun, RunState> {
  const { perOwner, all, bytes, overMs, interruptedMs } = limits;
  const keptMs = { active: Infinity, waiting: interruptedMs, over: overMs };
  return {
    name: "agntcy-runs",
    read: readRun,
    statuses: STATUSES,
    statusOf: ({ status }) => status,
    idOf: ({ runId }) => runId,
    ownerOf: ({ owner }) => owner,
    orderOf: ({ startedAt }) => startedAt,
    // At that moment it is forgotten already.
    forgottenAt: ({ status, updatedAt }) => updatedAt + keptMs[STATUSES[status].phase] - 1,
    quota: { perOwner, all, characters: bytes },
    sizeOf: ({ resultBytes, eventBytes }) => resultBytes + eventBytes,
    log: { events: "agntcy-run-events", first: FIRST_EVENT, doomed: "agntcy-doomed-runs" },
    entriesOf: (runId) => [{ collection: RESULTS, key: runId }],
  };
}

const isState = (status: string): status is RunState => Object.hasOwn(STATUSES, status);

const readRecord = recordReader<AgentRun>({
  ...{ runId: "string", base: "string", owner: "string", status: "string" },
  ...{ upstreamAgentId: "string", upstreamRunId: "string" },
  ...{ startedAt: "number", updatedAt: "number", deadlineAt: "number" },
  ...{ eventCount: "number", eventBytes: "number" },
});

function readRun(value: unknown): AgentRun | undefined {
  const run = readRecord(value);
  return run !== undefined && isState(run.status) ? run : undefined;
}
