/**
 * Runs of workflows as a kind of runs: a short entry of each, by which it is found without its log, and
 * the collections in which the rest of it lies.
 */
import { given } from "../../../base/json-value.ts";
import type { LogPlaces, RunKind, StatusMachine } from "../../../runs/run-kind.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
import type { Change } from "../../../state/store.ts";
import type { RunOwner } from "../agent-executor.ts";
import type { RunLimits } from "../config.ts";
import { isOver, ownerKey, type PauseRequest, type Run, type RunStatus } from "./run.ts";

/** Since when a run waits, and how long what it asks may stay unanswered. */
export interface Waiting {
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly timeoutMs?: number;
}

/** The moment at which a run has waited for too long. */
export function endOfWaiting(
  { since, timeoutMs = Number.POSITIVE_INFINITY }: Waiting,
  { waitingSeconds }: Pick<RunLimits, "waitingSeconds">,
): number {
  return since + Math.min(timeoutMs, waitingSeconds * 1000);
}

/** The facts of a run that are known without its log. */
export interface RunEntry {
  readonly runId: string;
  readonly tenant: string;
  readonly principal: string;
  readonly workflowId: string;
  readonly status: RunStatus;
  /** The subject that its caller gave it. */
  readonly scopeId?: string;
  readonly parentRunId?: string;
  /** The run that all of them were begun for. */
  readonly rootRunId?: string;
  /** The request to pause it behind the node that is executed. */
  readonly pause?: PauseRequest;
  readonly createdAt: number;
  /** Set while it waits for somebody; absent in entries of earlier versions. */
  readonly waiting?: Waiting;
  /** Milliseconds since the epoch; undefined: it is not over. */
  readonly endedAt?: number;
  /** Absent in entries of earlier versions, as is the next. */
  readonly eventCount?: number;
  readonly eventBytes?: number;
}

/** The collection of the runs as they were asked for. */
export const RUNS = "openwop-runs";
/** The collection of the acts of nodes of the public suite. */
export const EFFECTS = "openwop-effects";
/** The collection of results that wait for an answer: not for the log, which everybody reads. */
export const PENDING_RESULTS = "openwop-held-results";

/** The number of the first event of a run. */
export const FIRST_EVENT = 0;
const LOG: LogPlaces = {
  ...{ events: "openwop-run-events", first: FIRST_EVENT },
  beside: [PENDING_RESULTS, EFFECTS],
  doomed: "openwop-doomed-runs",
};
const ENDS = ["completed", "failed", "cancelled"] as const;
const WAITS = ["waiting-approval", "waiting-input"] as const;

/** A fork copies the log of another run, and stands as that does. */
const STATUSES: StatusMachine<RunStatus> = {
  pending: { phase: "active", next: ["running", "paused", ...WAITS, ...ENDS] },
  running: { phase: "active", next: ["paused", ...WAITS, ...ENDS] },
  paused: { phase: "waiting", next: ["running", "failed", "cancelled"] },
  "waiting-approval": { phase: "waiting", next: ["running", ...WAITS, ...ENDS] },
  "waiting-input": { phase: "waiting", next: ["running", ...WAITS, ...ENDS] },
  completed: { phase: "over", next: [], rank: 0 },
  failed: { phase: "over", next: [], rank: 0 },
  cancelled: { phase: "over", next: [], rank: 0 },
};

/** The kind; `limits` are those of the deployment that is served. */
export function workflowRunKind(limits: () => Partial<RunLimits>): RunKind<RunEntry, RunStatus> {
  return {
    name: "openwop-run-entries",
    read: recordReader<RunEntry>({
      ...{ runId: "string", tenant: "string", principal: "string", workflowId: "string" },
      ...{ status: "string", createdAt: "number" },
    }),
    statuses: STATUSES,
    statusOf: ({ status }) => status,
    idOf: ({ runId }) => runId,
    ownerOf: ownerKey,
    orderOf: ({ createdAt }) => createdAt,
    forgottenAt: ({ endedAt = Infinity }) =>
      endedAt + (limits().retentionSeconds ?? Infinity) * 1000,
    groups: {
      tree: ({ rootRunId }) => rootRunId,
      scope: ({ status, tenant, scopeId }) =>
        scopeId === undefined || isOver(status) ? undefined : scopeName(tenant, scopeId),
    },
    quota: () => {
      const { unfinishedPerOwner, perOwner, all } = limits();
      return given({ openPerOwner: unfinishedPerOwner, perOwner, all });
    },
    sizeOf: () => 0,
    log: LOG,
    entriesOf: (runId) => [{ collection: RUNS, key: runId }],
  };
}

/** The name of a scope, in which runs that are not over are grouped. */
export function scopeName(tenant: string, scopeId: string): string {
  return JSON.stringify([tenant, scopeId]);
}

/** The entry of a run that is begun. */
export function entryOf({ runId, owner, workflow, createdAt, scopeId, parent }: Run): RunEntry {
  return {
    ...{ runId, tenant: owner.tenant, principal: owner.principal, workflowId: workflow.id },
    ...{ status: "pending", createdAt, eventCount: 0, eventBytes: 0 },
    ...given({ scopeId }),
    ...(parent && { parentRunId: parent.runId, rootRunId: parent.rootRunId }),
  };
}

/** Keeps the result that waits for an answer. */
export function putPendingResult(runId: string, interruptId: string, result: unknown): Change {
  const value = { result: result ?? null };
  return { kind: "put", collection: PENDING_RESULTS, key: `${runId}/${interruptId}`, value };
}

/** A caller that asks about runs. */
export interface RunCaller {
  readonly owner: RunOwner;
  /** `own`: what it started itself. `tenant`: what its tenant did. `all`: everything. */
  readonly sees: "own" | "tenant" | "all";
}

/** Tells whether a run is there for a caller. */
export function isVisible(entry: RunEntry, { owner, sees }: RunCaller): boolean {
  if (sees === "all") return true;
  if (entry.tenant !== owner.tenant) return false;
  return sees === "tenant" || entry.principal === owner.principal;
}
