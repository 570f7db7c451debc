/**
 * Gate 01. Is the session that a header field names the caller's own? Gate 14 asks about one that only the
 * body names. Behind the arrival gates it is entered: a request that they refuse begins none.
 * 401 408 409.   AGTP "Sessions", "SUSPEND"
 */
import { ANONYMOUS } from "../caller/caller.ts";
import { enterSession, refuseSession, type SessionState } from "../caller/refuse-session.ts";
import { type MethodPolicy, resolveMethod } from "../policy/method-policy.ts";
import type { Gate } from "./gate.ts";

/** Looks at sessions of header fields; a body is not read yet. */
export function sessionGate(state: SessionState, methodPolicy: Pick<MethodPolicy, "alias">): Gate {
  return (exchange) => {
    const { sessionId } = exchange;
    if (sessionId === undefined) return undefined;
    const method = resolveMethod(methodPolicy, exchange.method);
    const refusal = refuseSession(exchange, { sessionId, method }, state);
    // Nothing of it is held against the agent whose session somebody else names.
    if (refusal?.status === 401) exchange.caller = ANONYMOUS;
    return refusal;
  };
}

/** Enters the session of header fields, which is the caller's own. */
export function sessionEntry(state: SessionState, methodPolicy: Pick<MethodPolicy, "alias">): Gate {
  return (exchange) => {
    const { sessionId } = exchange;
    if (sessionId === undefined) return undefined;
    const method = resolveMethod(methodPolicy, exchange.method);
    return enterSession(exchange, { sessionId, method }, state);
  };
}
