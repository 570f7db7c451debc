/** The events of a run, in order and for good.   OpenWOP "run-event" */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { AgentEventType } from "../agent-executor.ts";

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
