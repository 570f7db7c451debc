/** A call on its way to a process, and what the process is told of it. */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { Call, CallLog, DispatchResult, HandlerResult } from "../handler.ts";

/** The log of processes. */
export type ProcessLog = Pick<CallLog, "info" | "warn" | "error">;

/** A call of a function. */
export interface ProcessCall {
  readonly function: string;
  /** The parameters of the message, without what is left of its time. */
  readonly params: JsonRecord;
  /** `performance.now()` when its time is over; undefined: nothing but its signal ends it. */
  readonly endsAt: number | undefined;
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
  if (error !== undefined) {
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
  if (headers !== undefined && headers !== null && !isRecord(headers)) {
    throw new ProcessFault("the function's headers are no object");
  }
  return {
    ...(body === undefined ? {} : { body }),
    ...(typeof status === "number" ? { status } : {}),
    ...(isRecord(headers) ? { headers: headers as Readonly<Record<string, string>> } : {}),
  };
}

function isAbsentOr(type: string, value: unknown): boolean {
  return value === undefined || value === null || typeof value === type;
}
