/**
 * Gate 01. Is the session of the header the caller's own? Gate 14 checks a session that only the
 * body names. The session is entered after the arrival gates, so that a request they refuse starts
 * none. 401 408 409.   AGTP "Sessions", "SUSPEND"
 */
import { ANONYMOUS } from "../caller/caller.ts";
import { enterSession, refuseSession, type SessionState } from "../caller/refuse-session.ts";
import { type MethodPolicy, resolveMethod } from "../policy/method-policy.ts";
import type { Gate } from "./gate.ts";

/** Checks the session of the header; the body is not read yet. */
export function sessionGate(state: SessionState, methodPolicy: Pick<MethodPolicy, "alias">): Gate {
  return (exchange) => {
    const { sessionId } = exchange;
    if (sessionId === undefined) return undefined;
    const method = resolveMethod(methodPolicy, exchange.method);
    const refusal = refuseSession(exchange, { sessionId, method }, state);
    // The failure does not count against the agent whose session somebody else named.
    if (refusal?.status === 401) exchange.caller = ANONYMOUS;
    return refusal;
  };
}

/** Enters the caller's session of the header. */
export function sessionEntry(state: SessionState, methodPolicy: Pick<MethodPolicy, "alias">): Gate {
  return (exchange) => {
    const { sessionId } = exchange;
    if (sessionId === undefined) return undefined;
    const method = resolveMethod(methodPolicy, exchange.method);
    return enterSession(exchange, { sessionId, method }, state);
  };
}
