/** A call to a process: its parameters on the wire, and the reading of its result. */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { CallSurroundings } from "../call-upstream.ts";
import type { Call, CallLog, DispatchResult, HandlerResult } from "../handler.ts";

export type ProcessLog = Pick<CallLog, "info" | "warn" | "error">;

export interface ProcessCall {
  readonly function: string;
  /** The parameters of the message, without the remaining time. */
  readonly params: JsonRecord;
  /** The deadline by `performance.now()`; undefined if only the signal ends the call. */
  readonly endsAt: number | undefined;
  /** The request that the call answers; `inner` leads to the requests that dispatched it. */
  readonly request: CallSurroundings | undefined;
  readonly signal: Call["signal"];
  readonly log: ProcessLog & Partial<CallLog>;
  dispatch(
    method: string,
    path: string,
    input: JsonRecord,
  ): Promise<Pick<DispatchResult, "status" | "body">>;
}

/** The message's parameters, with the call's remaining time in whole milliseconds. */
export function paramsOf({ function: name, params, endsAt }: ProcessCall): object {
  if (endsAt === undefined) return { function: name, ...params };
  const left = Math.max(0, Math.floor(endsAt - performance.now()));
  return { function: name, ...params, deadline_ms: left };
}

/** The fault of a process or of its function; callers are not told the details. */
export class ProcessFault extends Error {}

/** Reads a function's result, known members only. Throws for an invalid one. */
export function readResult(result: unknown): HandlerResult {
  if (!isRecord(result)) throw new ProcessFault("the function's result is no object");
  const { error, message, details, body, status, headers } = result;
  if (error !== undefined && error !== null) {
    if (typeof error !== "string" || !isAbsentOr("string", message)) {
      throw new ProcessFault("the function's error has no name, or a message that is no text");
    }
    return {
      error,
      ...(typeof message === "string" ? { message } : {}),
      ...(details === undefined || details === null ? {} : { details }),
    };
  }
  if (!isAbsentOr("number", status)) throw new ProcessFault("the function's status is no number");
  if (headers !== undefined && headers !== null && !isRecord(headers) && !isEmptyList(headers)) {
    throw new ProcessFault("the function's headers are no object");
  }
  return {
    ...(body === undefined ? {} : { body }),
    ...(typeof status === "number" ? { status } : {}),
    ...(isRecord(headers) ? { headers: headers as Readonly<Record<string, string>> } : {}),
  };
}

/** Why: PHP and Lua encode an object without members as an empty list. */
function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function isAbsentOr(type: string, value: unknown): boolean {
  return value === undefined || value === null || typeof value === type;
}

export type CallProcess = (call: Omit<ProcessCall, "function">) => Promise<HandlerResult>;

/** A process's function; without surroundings only its signal ends a call. */
type ProcessHandler = (call: Call, surroundings?: CallSurroundings) => Promise<HandlerResult>;

/**
 * Creates a handler from a process's function: describes each call to the process, and dispatches
 * its requests for the call's agent.   AGTP-API §12.2
 */
export function createProcessFunction(
  callProcess: CallProcess,
  handlerTimeoutMs: number,
): ProcessHandler {
  return (call, surroundings) =>
    callProcess({
      params: describeCall(call, surroundings),
      endsAt: endOf(surroundings, handlerTimeoutMs),
      request: surroundings,
      signal: call.signal,
      log: call.log,
      dispatch: (method, path, input) => call.dispatch(method, path, input),
    });
}

function describeCall(call: Call, surroundings: CallSurroundings | undefined) {
  return {
    input: call.input,
    agent: {
      agent_id: call.agentId ?? null,
      name: surroundings?.caller?.document?.name ?? null,
      scopes: call.scopes,
      trust_tier: call.trustTier ?? null,
    },
    principal: call.principalId ?? null,
    method: call.method,
    path: call.path,
    request_id: call.requestId ?? null,
  };
}

/** The deadline of a call; one that another dispatches has the outer one's. */
function endOf(
  surroundings: CallSurroundings | undefined,
  handlerTimeoutMs: number,
): number | undefined {
  const { inner, startedAt } = surroundings ?? {};
  if (inner !== undefined) return endOf(inner.parent, handlerTimeoutMs);
  return startedAt === undefined ? undefined : startedAt + handlerTimeoutMs;
}
