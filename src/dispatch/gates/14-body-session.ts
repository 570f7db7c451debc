/**
 * May the caller use the session that only the body names?
 * 401 somebody else's · 408 nobody resumed it in time · 409 suspended or ended.   AGTP "Sessions"
 */
import { refuseSession, type SessionStanding } from "../caller/session-use.ts";
import type { Gate } from "./gate.ts";

/** Looks at sessions of bodies; the header's was judged before anything else. */
export function bodySessionGate(standing: SessionStanding): Gate {
  return (exchange) => {
    const { sessionId, caller, method, inner } = exchange;
    if (sessionId === undefined || inner !== undefined) return undefined;
    if (exchange.header("session-id") !== undefined) return undefined;
    return refuseSession(exchange, caller, { sessionId, method }, standing);
  };
}
