/** A call on its way to a process: what the process is told of it, and how its result is read. */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { CallSurroundings } from "../call-upstream.ts";
import type { Call, CallLog, DispatchResult, HandlerResult } from "../handler.ts";

export type ProcessLog = Pick<CallLog, "info" | "warn" | "error">;

export interface ProcessCall {
  readonly function: string;
  /** The parameters of the message, without what is left of its time. */
  readonly params: JsonRecord;
  /** `performance.now()` when its time is over; undefined: nothing but its signal ends it. */
  readonly endsAt: number | undefined;
  /** The request that it answers, below those that have dispatched it. */
  readonly request: CallSurroundings | undefined;
  readonly signal: Call["signal"];
  readonly log: ProcessLog & Partial<CallLog>;
  dispatch(
    method: string,
    path: string,
    input: JsonRecord,
  ): Promise<Pick<DispatchResult, "status" | "body">>;
}

/** The message's parameters, with what is left of the call's time in whole milliseconds. */
export function paramsOf({ function: name, params, endsAt }: ProcessCall): object {
  if (endsAt === undefined) return { function: name, ...params };
  const left = Math.max(0, Math.floor(endsAt - performance.now()));
  return { function: name, ...params, deadline_ms: left };
}

/** The fault of a process or of its function: opaque to callers. */
export class ProcessFault extends Error {}

/** The result of a function, of its own members alone. Throws for what is none. */
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

/** An object without members is that in PHP and Lua, whose tables and lists are one. */
function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function isAbsentOr(type: string, value: unknown): boolean {
  return value === undefined || value === null || typeof value === type;
}

export type CallProcess = (call: Omit<ProcessCall, "function">) => Promise<HandlerResult>;

/** A function of a process; without surroundings nothing but its signal ends a call. */
type ProcessHandler = (call: Call, surroundings?: CallSurroundings) => Promise<HandlerResult>;

/**
 * A function of a process as a handler: what the process is told of a call, and in whose name it may
 * dispatch.   AGTP-API §12.2
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

/** A call that another one dispatches ends with it. */
function endOf(
  surroundings: CallSurroundings | undefined,
  handlerTimeoutMs: number,
): number | undefined {
  const { inner, startedAt } = surroundings ?? {};
  if (inner !== undefined) return endOf(inner.parent, handlerTimeoutMs);
  return startedAt === undefined ? undefined : startedAt + handlerTimeoutMs;
}
