/**
 * REVOKE of a session: its agent closes it for good, or an operator does. What was negotiated for it
 * ends with it, and nothing resumes it. 404 no such session that is the caller's to end · 422 no
 * session is named. Its contracts are released, with an event each in the stream of their agent.
 * AGTP "Sessions", "SUSPEND", AGTP-API §10.8
 */
import { isOperating } from "../../dispatch/approvals/escalation-authority.ts";
import type { OperatorPolicy } from "../../dispatch/caller/operator.ts";
import type { RecordEvents } from "../../dispatch/contracts/contract-events.ts";
import { notFound, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import { tooManyWaiting } from "../../dispatch/refusals/task-refusals.ts";
import { floorResult } from "../../dispatch/routes/floor.ts";
import type { ExchangeView, RouteHandler } from "../../dispatch/routes/route.ts";
import type { CausingRequest } from "../../dispatch/stream-events.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import type { SessionRegister } from "../../state/registers/session-register.ts";
import type {
  HaltedSession,
  SuspensionRegister,
} from "../../state/registers/suspension-register.ts";
import { checkGiven } from "./escalate.ts";
import { missingTarget } from "./escalation-endpoints.ts";

interface SessionEndOptions {
  readonly register: Pick<ContractRegister, "openOf" | "end">;
  readonly record: RecordEvents;
}

interface EndedSession {
  readonly sessionId: string;
  readonly agentId: string;
}

/** Releases what is not persistent. May be called again for what an earlier call left. */
export async function endSessionContracts(
  { register, record }: SessionEndOptions,
  { sessionId, agentId }: EndedSession,
  reason: "session-expired" | "session-ended",
  cause?: CausingRequest,
): Promise<void> {
  const open = register
    .openOf(agentId)
    .filter((one) => one.sessionId === sessionId && !one.isPersistent)
    .reverse();
  const ended = await register.end(open, "released", () => reason);
  if (ended.length === 0) return;
  const events = ended.map((contract) => ({ type: "rcns_release", contract, reason }) as const);
  await record(events, cause);
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
    switch (halting.kind) {
      case "full":
        return tooManyWaiting("suspensions");
      case "held":
        return floorResult(call, endOf(sessionId, halting.suspension.state, { noop: true }));
      case "halted": {
        const cause = { call, exchange };
        await endSessionContracts(options.contracts, session, "session-ended", cause);
        return floorResult(call, endOf(sessionId, "ended", because));
      }
    }
  };
}

/** The session, if it is the caller's to end. */
function sessionOf(
  { sessions, suspensions, policy }: EndSessionOptions,
  sessionId: string,
  exchange: ExchangeView,
): Omit<HaltedSession, "reason"> | undefined {
  const known = suspensions.holdOf(sessionId) ?? sessions.find(sessionId);
  if (known === undefined) return undefined;
  const { agentId, tlsIdentity } = known;
  const isOwn =
    agentId === exchange.caller.agentId && tlsIdentity === exchange.peer.certificate?.fingerprint;
  if (!isOwn && !isOperating(exchange, policy)) return undefined;
  return { sessionId, agentId, ...(tlsIdentity === undefined ? {} : { tlsIdentity }) };
}

function endOf(sessionId: string, status: string, more: object): Record<string, unknown> {
  return { session_id: sessionId, status, ...more };
}

/** INSPECT of a session: whose it is, how it stands, when it was last used. 400 without the id. */
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
    const agentId = hold?.agentId ?? session?.agentId;
    const isOwn = agentId !== undefined && agentId === exchange.caller.agentId;
    if (agentId === undefined || !(isOwn || isOperating(exchange, policy))) {
      return notFound("record-not-found", "the caller has no session with this session_id");
    }
    const lastActivityAt = session?.lastActivityAt ?? hold?.suspendedAt ?? 0;
    return floorResult(call, {
      ...{ target: "session", session_id: id, agent_id: agentId, state: hold?.state ?? "active" },
      last_activity_at: new Date(lastActivityAt).toISOString(),
      ...(hold && {
        ...{ suspension_id: hold.suspensionId, reason: hold.reason ?? null },
        suspended_at: new Date(hold.suspendedAt).toISOString(),
        resume_by: new Date(hold.resumeBy).toISOString(),
      }),
    });
  };
}
