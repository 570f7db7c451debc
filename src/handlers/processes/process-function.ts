/**
 * A function of a process as a handler: what the process is told of a call, and in whose name it may
 * dispatch.   AGTP-API §12.2
 */
import type { CallSurroundings } from "../call-upstream.ts";
import type { Call, HandlerResult } from "../handler.ts";
import type { ProcessCall } from "./process-call.ts";

/** Makes a call of one function. */
export type CallProcess = (call: Omit<ProcessCall, "function">) => Promise<HandlerResult>;

/** A function of a process; without surroundings nothing but its signal ends a call. */
export type ProcessHandler = (
  call: Call,
  surroundings?: CallSurroundings,
) => Promise<HandlerResult>;

/** The handler of a function; a call from outside has so much time. */
export function createProcessFunction(
  callProcess: CallProcess,
  handlerTimeoutMs: number,
): ProcessHandler {
  return (call, surroundings) =>
    callProcess({
      params: describeCall(call, surroundings),
      endsAt: endOf(surroundings, handlerTimeoutMs),
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
