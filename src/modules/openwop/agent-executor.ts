/**
 * The interface between runs and agents: a run requests one turn of an agent, and is given each step before the next
 * one is taken.   OpenWOP RFC 0002 §B, RFC 0072 §B
 */

import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { ShownCertificate } from "../../state/registers/certificate-register.ts";

/** The types of the agent.* events that a turn emits. */
export type AgentEventType =
  | "agent.reasoned"
  | "agent.reasoning.delta"
  | "agent.toolCalled"
  | "agent.toolReturned"
  | "agent.handoff"
  | "agent.decided";

/** One step of a turn, redacted. */
export interface AgentEvent {
  readonly type: AgentEventType;
  readonly payload: JsonRecord;
  /** The eventId of the event that this one answers. */
  readonly causationId?: string;
}

/** The principal that a run is executed for. */
export interface RunOwner {
  readonly tenant: string;
  /** `agtp:<64 hex>` or the name of an API key. */
  readonly principal: string;
  /** Undefined if started over HTTP. */
  readonly agentId?: string;
  /** Authority-Scope tokens of the caller that started the run; they bound its tool calls. */
  readonly scopes: readonly string[];
  /** Set if the scopes were delegated. */
  readonly lent?: LentAuthority;
  /** The client certificates of the request that started the run; absent in runs of earlier versions. */
  readonly shown?: readonly ShownCertificate[];
}

/** Delegated authority and its deadline.   AGTP "DELEGATE" */
interface LentAuthority {
  /** The agents of this server that delegated it. */
  readonly by: readonly string[];
  /** Milliseconds since the epoch. */
  readonly until: number;
}

export interface AgentTurn {
  readonly agentId: string;
  /** The node's own agent, if it handed the task on: the result must satisfy that agent's return schema. */
  readonly promisedBy?: string;
  readonly task: unknown;
  /** The run's `configurable`. */
  readonly configurable: JsonRecord;
  readonly owner: RunOwner;
  readonly runId: string;
  readonly signal: AbortSignal;
  /** False skips the handoff schemas. Only the public suite's seam sets it. */
  readonly validatesHandoff?: boolean;
  /** Keeps the event; resolves with its eventId once it is kept. */
  emit(event: AgentEvent): Promise<string>;
}

/** An agent's request that another agent takes over. */
export interface Handoff {
  readonly toAgentId: string;
  readonly reason?: string;
}

/** Reads a handoff stated as an agent id or as `{toAgentId, reason}`; empty if no agent is named. */
export function readHandoff(stated: unknown): { readonly handoff?: Handoff } {
  const { toAgentId, reason } = isRecord(stated) ? stated : { toAgentId: stated };
  if (typeof toAgentId !== "string") return {};
  return { handoff: { toAgentId, ...(typeof reason === "string" ? { reason } : {}) } };
}

/** The error of a run that was not started or has no result. */
export interface RunError {
  readonly code: string;
  readonly message: string;
  readonly details?: JsonRecord;
}

/** The outcome of something that failed. */
export interface Failure {
  readonly kind: "failed";
  readonly error: RunError;
}

/** Makes a failure. */
export function failed(code: string, message: string, details?: JsonRecord): Failure {
  return { kind: "failed", error: { code, message, ...(details && { details }) } };
}

export type AgentOutcome =
  | { readonly kind: "completed"; readonly result: unknown; readonly handoffTo?: string }
  /** RFC 0002 §F: the run waits for approval of the agent's decision. */
  | {
      readonly kind: "low-confidence";
      readonly threshold: number;
      readonly observed: number;
      readonly decision: unknown;
      /** The turn's result if the decision is approved. */
      readonly result: unknown;
      /** The agent's handoff if the decision is approved. */
      readonly handoff?: Handoff;
    }
  | Failure;

/** Executes turns; an exception is an internal fault. */
export interface AgentExecutor {
  /** Tells whether the tenant has such an agent. */
  has(agentId: string, tenant: string): boolean;
  takeTurn(turn: AgentTurn): Promise<AgentOutcome>;
}
