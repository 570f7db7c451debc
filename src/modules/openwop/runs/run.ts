/**
 * A run as it was requested: immutable, while its state follows from its events.   OpenWOP "rest-endpoints",
 * RFC 0072 §B
 */
import { given, type JsonRecord } from "../../../base/json-value.ts";
import type { AgentEventType, RunError, RunOwner } from "../agent-executor.ts";
import type { WorkflowDefinition } from "../workflows/workflow.ts";

/** How a fork continues from its source. */
export type ForkMode = "replay" | "branch";

/** The source of a fork. */
export interface ForkSource {
  readonly runId: string;
  readonly mode: ForkMode;
  readonly fromSeq: number;
  /** The number of source events that the fork copies. */
  readonly copied: number;
  /** Variables without a value in the source. */
  readonly unset?: readonly string[];
}

/** The parent run and the node that started a child. */
interface RunParent {
  readonly runId: string;
  readonly nodeId: string;
  /** The topmost ancestor. */
  readonly rootRunId: string;
  /** The number of ancestors. */
  readonly depth: number;
  /** Variables without a value, even if they have a default. */
  readonly unset: readonly string[];
}

export interface Run {
  readonly runId: string;
  /** A copy from creation time, which a reload does not change. */
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

/** Tells whether a run has ended. */
export function isOver(status: RunStatus): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** Tells whether a run waits to be resumed or answered. */
export function isSuspended(status: RunStatus): boolean {
  return status === "paused" || isWaiting(status);
}

/** Tells whether a run waits for an answer to an interrupt. */
export function isWaiting(status: RunStatus): boolean {
  return status === "waiting-approval" || status === "waiting-input";
}

/** The key under which an owner's runs are counted. */
export function ownerKey({ tenant, principal }: Pick<RunOwner, "tenant" | "principal">): string {
  return `${tenant}\n${principal}`;
}

/** Why the execution of a run stops. */
export type RunStop =
  | {
      readonly kind: "cancelled";
      readonly reason?: string;
      readonly by: string;
      /** The cancelled parent, if that ended this run. */
      readonly parentRunId?: string;
    }
  | { readonly kind: "timeout"; readonly limitMs: number }
  /** Paused; the log names the principal. */
  | { readonly kind: "paused" }
  /** Taken over by another node. */
  | { readonly kind: "taken" };

/** The event types that this server writes. */
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

/** An event before it is stored. */
export interface EventDraft {
  readonly type: RunEventType;
  readonly payload: JsonRecord;
  readonly nodeId?: string;
  readonly causationId?: string;
  /** Set for copied events; otherwise generated. */
  readonly eventId?: string;
}

/** An event as stored and sent. */
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

/** Tells whether an event of this type ends the log. */
export function isTerminal(type: RunEventType): boolean {
  return TERMINAL.has(type);
}

/** Pause after the current node, or at once. */
export const DRAIN_POLICIES = ["drain-current-node", "immediate"] as const;

/** A drain policy. */
type DrainPolicy = (typeof DRAIN_POLICIES)[number];

export interface PauseRequest {
  readonly drainPolicy: DrainPolicy;
  readonly reason?: string;
  readonly by: string;
}

/** The maximum of node executions per run; a definition has at most as many nodes. */
export const MAX_NODE_EXECUTIONS = 256;
/** The minimum of `runTimeoutMs`. */
export const MIN_DURATION_MS = 1000;

/** The code of a refusal; AGTP and HTTP each map it to a status.   OpenWOP "error-envelope" */
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

/** Creates a refusal. */
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

/** Refuses a run because another of its scope is unfinished. */
export function runAlreadyActive(activeRunId: string): RunRefusal {
  const details = { activeRunId, retryAfter: RETRY_AFTER_S };
  return refuseRun("run_already_active", "another run of this scope is not over yet", details);
}

/** Refuses a run because its owner's quota is used up. */
export function tooManyRuns(): RunRefusal {
  const details = { scope: "key", retryAfterMs: RETRY_AFTER_S * 1000 };
  return refuseRun("rate_limited", "too many runs of this caller are not over yet", details);
}

/** Refuses missing and invisible runs alike. */
export function runNotFound(): RunRefusal {
  return refuseRun("run_not_found", "there is no such run");
}
