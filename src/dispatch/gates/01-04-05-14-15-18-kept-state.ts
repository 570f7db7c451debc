/**
 * Does anything that the server keeps stand in the way: a session, an account, the journal, a task, an
 * approval?
 * Gate 01, a session that a header field names, before anything else, and gate 14, one that only the
 * body names: it must be nobody else's, and neither suspended nor over. Only RESUME is answered in a
 * session that is held: its nonce decides. 401 somebody else's · 408 nobody resumed it in time · 409
 * suspended or ended.   AGTP "Sessions", "SUSPEND"
 *
 * Gates 04 and 05 are passed by every request from outside, also one that is refused already: nothing
 * that costs more is looked at before them.
 * Gate 04. Has the payer had what it may have? A request that a handler dispatches is not counted
 * again, though its work is paid for; nor is one that the API of another protocol has counted. 429
 * `rate-limited`, with Retry-After.   `[limits] work_ms_per_second`, `requests_per_second`
 * Gate 05. Does what gates look at hold, and can the answer be recorded? A node that may have missed a
 * change serves nobody. What an agent of this server asks for is recorded, refusals too, or not looked
 * into. 503 `store-unavailable`, `attribution-unavailable`.   AGTP-IDENTIFIERS "Attribution-Record"
 *
 * Gate 15. May the caller go on with the task that the request names? Not while the task waits for a
 * decision. What asks for the decision, brings it, or learns of it is answered, and so is what an
 * agent does to wait in good order. 409 `task-paused` with the escalation.   AGTP "ESCALATE"
 *
 * Gate 18. Does the call need an approval, and does it bring one that is for this call?
 * 262 `approval-required` where an operator has to decide first · 403 `approval-rejected` · 409
 * `approval-mismatch`, `approval-used`, `approval-expired` · 422 `composition_failed` for a step that
 * would need one of its own. Asked directly before the handler and behind an Idempotency-Key: what is
 * answered already is answered again, and what is refused otherwise is put before nobody.
 */

import type { Attributor } from "../../state/records/ledger.ts";
import type { ViewLease } from "../../state/state.ts";
import type { Approvals } from "../approvals/approvals.ts";
import { ANONYMOUS } from "../caller/caller.ts";
import type { CallerState } from "../caller/caller-state.ts";
import type { Exchange } from "../exchange.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import { payerOf, type Rates } from "../rates/rates.ts";
import { agentUnauthenticated, type Refusal, rateLimited } from "../refusals/refusal.ts";
import { recordsUnavailable, storeUnavailable } from "../refusals/store-refusals.ts";
import { refuseHeldSession, taskPaused } from "../refusals/task-refusals.ts";
import type { Route } from "../routes/route.ts";
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

/** Gate 04: looks at the accounts of all payers. */
export function ratesGate(rates: Rates): Gate {
  return (exchange) => {
    if (exchange.isCounted) return undefined;
    const excess = rates.admit(() => payerOf(exchange).key, exchange.startedAt);
    return excess && rateLimited(excess.scope, excess.retryAfterSeconds);
  };
}

/** Gate 05: looks at the journal; undefined: responses carry no record. */
export function ledgerGate(
  attributor: Pick<Attributor, "isWritable" | "isInStore"> | undefined,
  view: ViewLease,
): Gate {
  return ({ caller }) => {
    if (!view.isFresh) return storeUnavailable();
    const isRecorded = attributor !== undefined && caller.document !== undefined;
    return isRecorded && !attributor.isWritable ? recordsUnavailable(attributor) : undefined;
  };
}

/** The protocol's own methods that a task which waits may use. */
const EXEMPT: ReadonlySet<string> = new Set([
  ...["ESCALATE", "CONFIRM", "INSPECT", "SUSPEND", "RESUME"],
  ...["ACTIVATE", "DEACTIVATE", "REINSTATE", "REVOKE", "DEPRECATE"],
]);

/** The request by which the decision can be asked for. */
const ESCALATIONS = "/escalations";

/** Looks at tasks of header and body alike. */
export function taskGate({ escalations }: Pick<CallerState, "escalations">): Gate {
  return ({ route, caller, taskId }) => {
    if (route === undefined || taskId === undefined || caller.agentId === undefined)
      return undefined;
    const pause = escalations.pauseOf(caller.agentId, taskId);
    return pause === undefined || isExempt(route) ? undefined : taskPaused(pause);
  };
}

function isExempt({ tier, method, path }: Route): boolean {
  return tier === "A" && (EXEMPT.has(method) || path.startsWith(ESCALATIONS));
}

/** Looks for the approval; what has to be kept before the handler is called is left to the exchange. */
export function approvalGate(approvals: Approvals): Gate {
  /** Endpoints that no approval is ever about; most are. */
  const free = new WeakSet<Route>();
  return (exchange) => {
    const { route } = exchange;
    if (route === undefined || free.has(route)) return undefined;
    if (!approvals.concern(route)) {
      free.add(route);
      return undefined;
    }
    const verdict = approvals.check(exchange, route);
    if (verdict === undefined || verdict.kind === "refusal") return verdict;
    exchange.approvalStep = verdict;
    return undefined;
  };
}
