/**
 * A run: what was asked for, and for whom. It never changes; where the run stands follows from its
 * events.   OpenWOP "rest-endpoints", RFC 0072 §B
 */
import { given, type JsonRecord } from "../../../base/json-value.ts";
import type { AgentEventType, RunError, RunOwner } from "../agent-executor.ts";
import type { WorkflowDefinition } from "../workflows/workflow.ts";

/** The mode in which a fork goes on from its source. */
export type ForkMode = "replay" | "branch";

/** The run that a fork was taken of. */
export interface ForkSource {
  readonly runId: string;
  readonly mode: ForkMode;
  readonly fromSeq: number;
  /** The number of the source's events that the fork begins with. */
  readonly copied: number;
  /** Variables that have no value in the source either. */
  readonly unset?: readonly string[];
}

/** The node of another run that a run was begun by. */
interface RunParent {
  readonly runId: string;
  readonly nodeId: string;
  /** The run that nobody began but its caller. */
  readonly rootRunId: string;
  /** The number of runs above it. */
  readonly depth: number;
  /** Variables that have no value, whatever their defaults are. */
  readonly unset: readonly string[];
}

export interface Run {
  readonly runId: string;
  /** As it was when the run was created; a reload does not change it. */
  readonly workflow: WorkflowDefinition;
  readonly owner: RunOwner;
  readonly inputs: JsonRecord;
  readonly configurable: JsonRecord;
  readonly tags: readonly string[];
  readonly metadata: JsonRecord;
  readonly scopeId?: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly source?: ForkSource;
  readonly parent?: RunParent;
}

export type RunStatus =
  | "pending"
  | "running"
  | "paused"
  | "waiting-approval"
  | "waiting-input"
  | "completed"
  | "failed"
  | "cancelled";

/** Tells whether nothing more happens to a run. */
export function isOver(status: RunStatus): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** Tells whether a run stays where it is until somebody resumes or answers it. */
export function isSuspended(status: RunStatus): boolean {
  return status === "paused" || isWaiting(status);
}

/** Tells whether a run waits for an answer to what one of its nodes asks. */
export function isWaiting(status: RunStatus): boolean {
  return status === "waiting-approval" || status === "waiting-input";
}

/** Runs of one owner are counted together. */
export function ownerKey({ tenant, principal }: Pick<RunOwner, "tenant" | "principal">): string {
  return `${tenant}\n${principal}`;
}

/** Why a run is not executed any further. */
export type RunStop =
  | {
      readonly kind: "cancelled";
      readonly reason?: string;
      readonly by: string;
      /** The run that was cancelled, and took this one with it. */
      readonly parentRunId?: string;
    }
  | { readonly kind: "timeout"; readonly limitMs: number }
  /** The log says who has paused it. */
  | { readonly kind: "paused" }
  /** Another node executes it. */
  | { readonly kind: "taken" };

/** The types that this server writes. */
export type RunEventType =
  | "run.started"
  | "run.paused"
  | "run.resumed"
  | "run.completed"
  | "run.failed"
  | "run.cancelled"
  | "node.started"
  | "node.completed"
  | "node.failed"
  | "node.suspended"
  | "node.retried"
  | "node.skipped"
  | "node.cancelled"
  | "node.dispatched"
  | "interrupt.requested"
  | "interrupt.resolved"
  | "approval.received"
  | "clarification.resolved"
  | "channel.written"
  | "variable.changed"
  | "workflow.loopback-limit"
  | "cap.breached"
  | AgentEventType;

/** An event that is about to be kept. */
export interface EventDraft {
  readonly type: RunEventType;
  readonly payload: JsonRecord;
  readonly nodeId?: string;
  readonly causationId?: string;
  /** Given for what is copied from another run; otherwise a new one is made. */
  readonly eventId?: string;
}

/** An event as it is kept and sent. */
export interface RunEvent {
  readonly eventId: string;
  readonly runId: string;
  readonly sequence: number;
  readonly type: RunEventType;
  readonly timestamp: string;
  readonly nodeId?: string;
  readonly causationId?: string;
  readonly payload: JsonRecord;
}

const TERMINAL: ReadonlySet<RunEventType> = new Set([
  "run.completed",
  "run.failed",
  "run.cancelled",
]);

/** Tells whether nothing comes after an event of this type. */
export function isTerminal(type: RunEventType): boolean {
  return TERMINAL.has(type);
}

/** Pausing at once, or behind the node that is executed. */
export const DRAIN_POLICIES = ["drain-current-node", "immediate"] as const;

/** A way to pause a run. */
type DrainPolicy = (typeof DRAIN_POLICIES)[number];

export interface PauseRequest {
  readonly drainPolicy: DrainPolicy;
  readonly reason?: string;
  readonly by: string;
}

/** Nodes that one run executes at most; a definition has no more. */
export const MAX_NODE_EXECUTIONS = 256;
/** The shortest `runTimeoutMs`. */
export const MIN_DURATION_MS = 1000;

/**
 * Why something is not done with a run; AGTP and HTTP each have a status of their own for it.
 * OpenWOP "error-envelope"
 */
export type RunRefusalCode =
  | "validation_error"
  | "agent_not_found"
  | "run_not_found"
  | "run_already_active"
  | "run_state_conflict"
  | "run_terminal"
  | "interrupt_not_found"
  | "interrupt_already_resolved"
  | "interrupt_cancelled"
  | "interrupt_expired"
  | "fork_invalid_seq"
  | "mock_provider_forbidden"
  | "forbidden"
  | "rate_limited";

export interface RunRefusal extends RunError {
  readonly kind: "refused";
  readonly code: RunRefusalCode;
}

const RETRY_AFTER_S = 1;

/** Makes a refusal. */
export function refuseRun(
  code: RunRefusalCode,
  message: string,
  details?: RunError["details"],
): RunRefusal {
  return { kind: "refused", code, message, ...given({ details }) };
}

/** Tells whether an answer is a refusal. */
export function isRefused(answer: object): answer is RunRefusal {
  return "kind" in answer && answer.kind === "refused";
}

/** Why a run is not taken on: another of its scope is under way. */
export function runAlreadyActive(activeRunId: string): RunRefusal {
  const details = { activeRunId, retryAfter: RETRY_AFTER_S };
  return refuseRun("run_already_active", "another run of this scope is not over yet", details);
}

/** Why a run is not taken on: there is no room for it. */
export function tooManyRuns(): RunRefusal {
  const details = { scope: "key", retryAfterMs: RETRY_AFTER_S * 1000 };
  return refuseRun("rate_limited", "too many runs of this caller are not over yet", details);
}

/** Refuses alike a run that is not there and one that the caller may not see. */
export function runNotFound(): RunRefusal {
  return refuseRun("run_not_found", "there is no such run");
}
