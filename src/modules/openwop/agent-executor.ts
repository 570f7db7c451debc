/**
 * Between runs and agents: a run asks for one turn of an agent, and hears of every step before the
 * next one is taken.   OpenWOP RFC 0002 §B, RFC 0072 §B
 */

import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { ShownCertificate } from "../../state/registers/certificate-register.ts";

/** The agent.* events of a turn, and nothing else. */
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

/** For whom a run is done. */
export interface RunOwner {
  readonly tenant: string;
  /** `agtp:<64 hex>` or the name of an API key. */
  readonly principal: string;
  /** Undefined: started over HTTP. */
  readonly agentId?: string;
  /** Authority-Scope tokens that whoever started the run held; its tools are called with no more. */
  readonly scopes: readonly string[];
  /** Set where these were handed on to it. */
  readonly lent?: LentAuthority;
  /** The certificates that it was started with; absent in runs of earlier versions. */
  readonly shown?: readonly ShownCertificate[];
}

/** Authority that was handed on, as long as it is good.   AGTP "DELEGATE" */
interface LentAuthority {
  /** The agents of this server that handed it on. */
  readonly by: readonly string[];
  /** Milliseconds since the epoch. */
  readonly until: number;
}

export interface AgentTurn {
  readonly agentId: string;
  /** The agent of the node, which may have handed the task on: the result is the one that it promises. */
  readonly promisedBy?: string;
  readonly task: unknown;
  /** The run's `configurable`. */
  readonly configurable: JsonRecord;
  readonly owner: RunOwner;
  readonly runId: string;
  readonly signal: AbortSignal;
  /** False: handoff schemas are not looked at. Only the public suite's seam asks for that. */
  readonly validatesHandoff?: boolean;
  /** Keeps the event; resolves with its eventId once it is kept. */
  emit(event: AgentEvent): Promise<string>;
}

/** An agent's wish that another one goes on. */
export interface Handoff {
  readonly toAgentId: string;
  readonly reason?: string;
}

/** The handoff that is stated, by the agent's id or with a reason beside it; none where no agent is. */
export function readHandoff(stated: unknown): { readonly handoff?: Handoff } {
  const { toAgentId, reason } = isRecord(stated) ? stated : { toAgentId: stated };
  if (typeof toAgentId !== "string") return {};
  return { handoff: { toAgentId, ...(typeof reason === "string" ? { reason } : {}) } };
}

/** Why a run was not started, or did not come to a result. */
export interface RunError {
  readonly code: string;
  readonly message: string;
  readonly details?: JsonRecord;
}

/** Something that came to no result. */
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
  /** RFC 0002 §F: the run waits for an answer. */
  | {
      readonly kind: "low-confidence";
      readonly threshold: number;
      readonly observed: number;
      readonly decision: unknown;
      /** The result of the turn where the answer is yes. */
      readonly result: unknown;
      /** To whom the agent hands on then. */
      readonly handoff?: Handoff;
    }
  | Failure;

/** Takes turns; what it throws is a fault. */
export interface AgentExecutor {
  /** Tells whether such an agent is installed, for this tenant. */
  has(agentId: string, tenant: string): boolean;
  takeTurn(turn: AgentTurn): Promise<AgentOutcome>;
}
