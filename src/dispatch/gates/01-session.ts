/**
 * May the caller use the session that the header names?
 * 401 somebody else's · 408 nobody resumed it in time · 409 suspended or ended.   AGTP "Sessions"
 */
import { ANONYMOUS } from "../caller/caller.ts";
import { refuseSession, type SessionStanding } from "../caller/session-use.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { Gate } from "./gate.ts";

/** Looks at sessions of header fields; a body is not read yet. */
export function sessionGate(
  standing: SessionStanding,
  methodPolicy: Pick<MethodPolicy, "alias">,
): Gate {
  return (exchange) => {
    const { sessionId, caller } = exchange;
    if (sessionId === undefined) return undefined;
    const method = methodPolicy.alias(exchange.method)?.method ?? exchange.method;
    const refusal = refuseSession(exchange, caller, { sessionId, method }, standing);
    // Nothing of it is held against the agent whose session somebody else names.
    if (refusal?.status === 401) exchange.caller = ANONYMOUS;
    return refusal;
  };
}
