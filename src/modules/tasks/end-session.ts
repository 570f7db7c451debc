/**
 * REVOKE of a session: its agent closes it for good, or an operator does. What was negotiated for it
 * ends with it, and nothing resumes it. 404 no such session that is the caller's to end · 422 no
 * session is named. Its contracts are released, with an event each in the stream of their agent.
 * AGTP "Sessions", "SUSPEND", AGTP-API §10.8
 */
import { isOperating } from "../../dispatch/approvals/escalation-authority.ts";
import type { OperatorPolicy } from "../../dispatch/caller/operator.ts";
import type { RecordEvents } from "../../dispatch/contracts/contract-events.ts";
import { endContracts } from "../../dispatch/contracts/end-contracts.ts";
import { notFound, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import { tooManyWaiting } from "../../dispatch/refusals/task-refusals.ts";
import { floorResult } from "../../dispatch/routes/floor.ts";
import type { ExchangeView, RouteHandler } from "../../dispatch/routes/route.ts";
import type { CausingRequest } from "../../dispatch/stream-events.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import type { SessionRegister } from "../../state/registers/session-register.ts";
import type { Suspension } from "../../state/registers/suspension.ts";
import type {
  HaltedSession,
  SuspensionRegister,
} from "../../state/registers/suspension-register.ts";
import { checkGiven } from "./escalate.ts";
import { missingTarget } from "./escalation-endpoints.ts";
import { isOwnSession } from "./own-session.ts";

interface SessionEndOptions {
  readonly register: Pick<ContractRegister, "ofSession" | "change">;
  readonly record: RecordEvents;
}

type EndedSession = Pick<Suspension, "sessionId" | "agentId" | "state">;

/** Releases the session's contracts that are not persistent; idempotent. */
export async function endSessionContracts(
  options: SessionEndOptions,
  { sessionId, agentId, state }: EndedSession,
  cause?: CausingRequest,
): Promise<void> {
  const ends = options.register
    .ofSession(agentId, sessionId)
    .filter(({ isPersistent }) => !isPersistent)
    .map((contract) => ({ contract, state: "released", reason: `session-${state}` }) as const);
  await endContracts(options, ends, cause);
}

interface EndSessionOptions {
  readonly sessions: Pick<SessionRegister, "find">;
  readonly suspensions: Pick<SuspensionRegister, "end" | "holdOf">;
  readonly contracts: SessionEndOptions;
  readonly policy: OperatorPolicy;
}

/** The handler of REVOKE `{target: "session", session_id, reason?}`. */
export function endSessionHandler(options: EndSessionOptions): RouteHandler {
  return async (call, exchange) => {
    const sessionId = call.input["session_id"] ?? call.sessionId;
    if (typeof sessionId !== "string") {
      return schemaViolation(checkGiven(["session_id", undefined]));
    }
    const session = sessionOf(options, sessionId, exchange);
    if (session === undefined) {
      return notFound("record-not-found", "the caller has no session with this session_id");
    }
    const { reason } = call.input;
    const because = typeof reason === "string" ? { reason } : {};
    const halting = await options.suspensions.end({ ...session, ...because });
    if (halting.kind === "full") return tooManyWaiting("suspensions");
    const { suspension, kind } = halting;
    await endSessionContracts(options.contracts, suspension, { call, exchange });
    const more = kind === "held" ? { noop: true } : because;
    return floorResult(call, { session_id: sessionId, status: suspension.state, ...more });
  };
}

/** Finds the session that the call names, if the caller may end it. */
function sessionOf(
  { sessions, suspensions, policy }: EndSessionOptions,
  sessionId: string,
  exchange: ExchangeView,
): Omit<HaltedSession, "reason"> | undefined {
  const known = suspensions.holdOf(sessionId) ?? sessions.find(sessionId);
  if (known === undefined) return undefined;
  const { agentId, tlsIdentity } = known;
  if (!isOwnSession(known, exchange) && !isOperating(exchange, policy)) return undefined;
  return { sessionId, agentId, ...(tlsIdentity === undefined ? {} : { tlsIdentity }) };
}

/** INSPECT of a session: its agent, status and last use. 400 without the id. */
export function inspectSession({
  sessions,
  suspensions,
  policy,
}: Pick<EndSessionOptions, "sessions" | "suspensions" | "policy">): RouteHandler {
  return (call, exchange) => {
    const id = call.input["session_id"] ?? call.sessionId;
    if (typeof id !== "string") return missingTarget("session_id");
    const session = sessions.find(id);
    const hold = suspensions.holdOf(id);
    const known = hold ?? session;
    if (known === undefined || !(isOwnSession(known, exchange) || isOperating(exchange, policy))) {
      return notFound("record-not-found", "the caller has no session with this session_id");
    }
    const lastActivityAt = session?.lastActivityAt ?? hold?.suspendedAt ?? 0;
    return floorResult(call, {
      ...{
        target: "session",
        session_id: id,
        agent_id: known.agentId,
        state: hold?.state ?? "active",
      },
      last_activity_at: new Date(lastActivityAt).toISOString(),
      ...(hold && {
        ...{ suspension_id: hold.suspensionId, reason: hold.reason ?? null },
        suspended_at: new Date(hold.suspendedAt).toISOString(),
        resume_by: new Date(hold.resumeBy).toISOString(),
      }),
    });
  };
}
