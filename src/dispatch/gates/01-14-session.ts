/**
 * May the caller use the session that the request names: one that is nobody else's, and neither
 * suspended nor over? Gate 01 looks at the header field before anything else, gate 14 at a session
 * that only the body names. Only RESUME is answered in a session that is held: its nonce decides.
 * 401 somebody else's · 408 nobody resumed it in time · 409 suspended or ended.
 * AGTP "Sessions", "SUSPEND"
 */
import { ANONYMOUS } from "../caller/caller.ts";
import type { CallerState } from "../caller/caller-state.ts";
import type { Exchange } from "../exchange.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import { agentUnauthenticated, type Refusal } from "../refusals/refusal.ts";
import { refuseHeldSession } from "../refusals/task-refusals.ts";
import type { Gate } from "./gate.ts";

/** The registers of sessions. */
type SessionState = Pick<CallerState, "sessions" | "suspensions">;

/** Gate 01: looks at sessions of header fields; a body is not read yet. */
export function sessionGate(state: SessionState, methodPolicy: Pick<MethodPolicy, "alias">): Gate {
  return (exchange) => {
    const { sessionId } = exchange;
    if (sessionId === undefined) return undefined;
    const method = methodPolicy.alias(exchange.method)?.method ?? exchange.method;
    const refusal = refuseSession(exchange, { sessionId, method }, state);
    // Nothing of it is held against the agent whose session somebody else names.
    if (refusal?.status === 401) exchange.caller = ANONYMOUS;
    return refusal;
  };
}

/** Gate 14: looks at sessions of bodies; the header's was judged before anything else. */
export function bodySessionGate(state: SessionState): Gate {
  return (exchange) => {
    const { sessionId, method, inner } = exchange;
    if (sessionId === undefined || inner !== undefined) return undefined;
    if (exchange.header("session-id") !== undefined) return undefined;
    return refuseSession(exchange, { sessionId, method }, state);
  };
}

function refuseSession(
  exchange: Exchange,
  { sessionId, method }: { readonly sessionId: string; readonly method: string },
  { sessions, suspensions }: SessionState,
): Refusal | undefined {
  const { agentId, document } = exchange.caller;
  const tlsIdentity = exchange.peer.certificate?.fingerprint;
  const hold = suspensions.holdOf(sessionId);
  if (hold === undefined) {
    // A stranger's sessions are not kept; it may not take over those that are.
    const user = { agentId, tlsIdentity, isHosted: document !== undefined };
    const admission = sessions.admit(sessionId, user);
    if (admission instanceof Promise) exchange.sessionKept = admission;
    return admission === false ? sessionMismatch() : undefined;
  }
  if (hold.agentId !== agentId) return sessionMismatch();
  if (method === "RESUME") return undefined;
  return hold.tlsIdentity === tlsIdentity ? refuseHeldSession(hold) : sessionMismatch();
}

/** 401: the session is another agent's, or came over another TLS identity. */
function sessionMismatch(): Refusal {
  return agentUnauthenticated("the Session-ID is in use by somebody else", "session-mismatch");
}
