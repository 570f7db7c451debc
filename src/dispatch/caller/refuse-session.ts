/**
 * May the caller use the session that it names? It must be nobody else's, and neither suspended nor over.
 * Only RESUME is answered in a session that is held: its nonce decides.
 * A session that the request begins is judged once more when it is stored: of two callers that begin one at two
 * nodes in the same moment, one has it.
 * 401 somebody else's · 408 nobody resumed it in time · 409 suspended or ended.   AGTP "Sessions", "SUSPEND"
 */
import type { SessionUser } from "../../state/registers/session-register.ts";
import type { Exchange } from "../exchange.ts";
import { agentUnauthenticated, type Refusal } from "../refusals/refusal.ts";
import { refuseHeldSession } from "../refusals/task-refusals.ts";
import { ANONYMOUS } from "./caller.ts";
import type { CallerState } from "./caller-state.ts";
import { sessionHolderOf } from "./own-matter.ts";

export type SessionState = Pick<CallerState, "sessions" | "suspensions">;

/** The session that a request names, and the method that it asks for. */
interface NamedSession {
  readonly sessionId: string;
  readonly method: string;
}

/** Says why the caller may not use its session; nothing is kept of one that it may. */
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

/** Admits the caller to its session, which is kept; or says why it may not use it. */
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

/** A stranger's sessions are not kept; it may not take over those that are. */
function userOf(exchange: Exchange): SessionUser {
  const { agentId, document } = exchange.caller;
  return { agentId, tlsIdentity: sessionHolderOf(exchange), isHosted: document !== undefined };
}

/** Waits until the session that the request begins is stored; the refusal where another was faster. */
export async function refuseLostSession(exchange: Exchange): Promise<Refusal | undefined> {
  if ((await exchange.sessionKept) !== false) return undefined;
  // Nothing of it is held against the agent whose session somebody else names.
  if (exchange.header("session-id") !== undefined) exchange.caller = ANONYMOUS;
  return sessionMismatch();
}

/** 401: the session is another agent's, or came over another TLS identity. */
function sessionMismatch(): Refusal {
  return agentUnauthenticated("the Session-ID is in use by somebody else", "session-mismatch");
}
