/**
 * Workflow runs as a kind of run: the entry that finds one without reading its log, and the collections of its other
 * data.
 */
import { given } from "../../../base/json-value.ts";
import type { LogPlaces, RunKind, StatusMachine } from "../../../runs/run-kind.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
import type { Change } from "../../../state/store.ts";
import type { RunOwner } from "../agent-executor.ts";
import type { RunLimits } from "../config.ts";
import { isOver, ownerKey, type PauseRequest, type Run, type RunStatus } from "./run.ts";

/** When a run began to wait, and the timeout of its interrupt. */
export interface Waiting {
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly timeoutMs?: number;
}

/** Returns when a waiting run times out, in milliseconds since the epoch. */
export function endOfWaiting(
  { since, timeoutMs = Number.POSITIVE_INFINITY }: Waiting,
  { waitingSeconds }: Pick<RunLimits, "waitingSeconds">,
): number {
  return since + Math.min(timeoutMs, waitingSeconds * 1000);
}

/** The data of a run that is known without its log. */
export interface RunEntry {
  readonly runId: string;
  readonly tenant: string;
  readonly principal: string;
  readonly workflowId: string;
  readonly status: RunStatus;
  /** The caller's name for the subject of the run. */
  readonly scopeId?: string;
  readonly parentRunId?: string;
  /** The topmost ancestor. */
  readonly rootRunId?: string;
  /** The pending request to pause after the current node. */
  readonly pause?: PauseRequest;
  readonly createdAt: number;
  /** Set while an interrupt or a pause is open; absent in entries of earlier versions. */
  readonly waiting?: Waiting;
  /** Milliseconds since the epoch; undefined while unfinished. */
  readonly endedAt?: number;
  /** Absent in entries of earlier versions, like the next. */
  readonly eventCount?: number;
  readonly eventBytes?: number;
}

/** The collection of runs as requested. */
export const RUNS = "openwop-runs";
/** The collection of the effects of the suite's nodes. */
export const EFFECTS = "openwop-effects";
/** The collection of results awaiting approval; the log is no place for them, since everybody reads it. */
export const PENDING_RESULTS = "openwop-held-results";

/** The sequence of a run's first event. */
export const FIRST_EVENT = 0;
const LOG: LogPlaces = {
  ...{ events: "openwop-run-events", first: FIRST_EVENT },
  beside: [PENDING_RESULTS, EFFECTS],
  doomed: "openwop-doomed-runs",
};
const ENDS = ["completed", "failed", "cancelled"] as const;
const WAITS = ["waiting-approval", "waiting-input"] as const;

/** A fork copies another log, so its status can change as that run's did. */
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

/** The kind of run; `limits` returns those of the served deployment. */
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

/** Names the scope under which unfinished runs are grouped. */
export function scopeName(tenant: string, scopeId: string): string {
  return JSON.stringify([tenant, scopeId]);
}

/** Creates the entry of a new run. */
export function entryOf({ runId, owner, workflow, createdAt, scopeId, parent }: Run): RunEntry {
  return {
    ...{ runId, tenant: owner.tenant, principal: owner.principal, workflowId: workflow.id },
    ...{ status: "pending", createdAt, eventCount: 0, eventBytes: 0 },
    ...given({ scopeId }),
    ...(parent && { parentRunId: parent.runId, rootRunId: parent.rootRunId }),
  };
}

/** Stores a result until it is approved. */
export function putPendingResult(runId: string, interruptId: string, result: unknown): Change {
  const value = { result: result ?? null };
  return { kind: "put", collection: PENDING_RESULTS, key: `${runId}/${interruptId}`, value };
}

/** A caller, and the runs that it may see. */
export interface RunCaller {
  readonly owner: RunOwner;
  /** `own`: the runs that it started. `tenant`: its tenant's runs. `all`: every run. */
  readonly sees: "own" | "tenant" | "all";
}

/** Tells whether a caller may see a run. */
export function isVisible(entry: RunEntry, { owner, sees }: RunCaller): boolean {
  if (sees === "all") return true;
  if (entry.tenant !== owner.tenant) return false;
  return sees === "tenant" || entry.principal === owner.principal;
}
