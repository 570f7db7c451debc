/**
 * Checks that the caller may use the session that it names: it must not be another's, suspended or
 * ended. Only RESUME is answered in a held session; its nonce decides. A new session is checked
 * again when it is stored: if two callers start one at two nodes at once, one of them wins. 401
 * another's session · 408 not resumed in time · 409 suspended or ended.   AGTP "Sessions",
 * "SUSPEND"
 */
import type { SessionUser } from "../../state/registers/session-register.ts";
import type { Exchange } from "../exchange.ts";
import { agentUnauthenticated, type Refusal } from "../refusals/refusal.ts";
import { refuseHeldSession } from "../refusals/task-refusals.ts";
import { ANONYMOUS } from "./caller.ts";
import type { CallerState } from "./caller-state.ts";
import { sessionHolderOf } from "./own-matter.ts";

export type SessionState = Pick<CallerState, "sessions" | "suspensions">;

/** The session that a request names, and the request's method. */
interface NamedSession {
  readonly sessionId: string;
  readonly method: string;
}

/** Refuses a session that the caller may not use; stores nothing. */
export function refuseSession(
  exchange: Exchange,
  { sessionId, method }: NamedSession,
  { sessions, suspensions }: SessionState,
): Refusal | undefined {
  const hold = suspensions.holdOf(sessionId);
  const user = userOf(exchange);
  if (hold === undefined) return sessions.isOpenTo(sessionId, user) ? undefined : sessionMismatch();
  if (hold.agentId !== user.agentId) return sessionMismatch();
  if (method === "RESUME") return undefined;
  return hold.tlsIdentity === user.tlsIdentity ? refuseHeldSession(hold) : sessionMismatch();
}

/** Admits the caller to its session and stores that, or refuses it. */
export function enterSession(
  exchange: Exchange,
  named: NamedSession,
  state: SessionState,
): Refusal | undefined {
  const { sessionId } = named;
  const isHeld = state.suspensions.holdOf(sessionId) !== undefined;
  if (isHeld) return refuseSession(exchange, named, state);
  const admission = state.sessions.admit(sessionId, userOf(exchange));
  if (admission instanceof Promise) exchange.sessionKept = admission;
  return admission === false ? sessionMismatch() : undefined;
}

/** Sessions of unknown agents are not stored, and such an agent may not take over a stored one. */
function userOf(exchange: Exchange): SessionUser {
  const { agentId, document } = exchange.caller;
  return { agentId, tlsIdentity: sessionHolderOf(exchange), isHosted: document !== undefined };
}

/** Waits until the session that the request starts is stored; refuses if another caller won it. */
export async function refuseLostSession(exchange: Exchange): Promise<Refusal | undefined> {
  if ((await exchange.sessionKept) !== false) return undefined;
  // The failure does not count against the agent whose session somebody else named.
  if (exchange.header("session-id") !== undefined) exchange.caller = ANONYMOUS;
  return sessionMismatch();
}

/** Refuses a session of another agent, or of another TLS identity: 401. */
function sessionMismatch(): Refusal {
  return agentUnauthenticated("the Session-ID is in use by somebody else", "session-mismatch");
}
