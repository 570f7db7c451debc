/**
 * Gate 14. Is a session that only the body names the caller's own? Gate 01 checked the header's.
 * 401 408 409.   AGTP "Sessions", "SUSPEND"
 */
import { enterSession, type SessionState } from "../caller/refuse-session.ts";
import type { Gate } from "./gate.ts";

/** Enters the caller's session; an inner dispatch shares its parent's. */
export function bodySessionGate(state: SessionState): Gate {
  return (exchange) => {
    const { sessionId, method, inner } = exchange;
    if (sessionId === undefined || inner !== undefined) return undefined;
    if (exchange.header("session-id") !== undefined) return undefined;
    return enterSession(exchange, { sessionId, method }, state);
  };
}
