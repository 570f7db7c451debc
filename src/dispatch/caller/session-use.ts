/**
 * Tells whether a request may use the session that it names: one that is nobody else's, and neither
 * suspended nor over. 401 another's · 408 nobody resumed it in time · 409 suspended or ended.
 * Only RESUME is answered in a session that is held: its nonce decides.   AGTP "Sessions", "SUSPEND"
 */

import type { SessionAdmission, SessionUser } from "../../state/registers/session-register.ts";
import type { Exchange } from "../exchange.ts";
import { agentUnauthenticated, type Refusal } from "../refusals/refusal.ts";
import { refuseHeldSession, type SessionHold } from "../refusals/task-refusals.ts";
import type { Caller } from "./caller.ts";

/** The standing of sessions. */
export interface SessionStanding {
  admitSession(sessionId: string, user: SessionUser): SessionAdmission;
  /** Undefined: nothing keeps the session from being used. */
  holdOf(sessionId: string): SessionHold | undefined;
}

/** Why the caller may not use the session for this method; undefined: it may. */
export function refuseSession(
  exchange: Pick<Exchange, "peer" | "sessionKept">,
  { agentId, document }: Caller,
  { sessionId, method }: { readonly sessionId: string; readonly method: string },
  standing: SessionStanding,
): Refusal | undefined {
  const tlsIdentity = exchange.peer.certificate?.fingerprint;
  const hold = standing.holdOf(sessionId);
  if (hold === undefined) {
    // A stranger's sessions are not kept; it may not take over those that are.
    const user = { agentId, tlsIdentity, isHosted: document !== undefined };
    const admission = standing.admitSession(sessionId, user);
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
