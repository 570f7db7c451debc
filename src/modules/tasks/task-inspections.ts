/**
 * INSPECT of what waits: targets `escalation` and `session`, for whom they concern and for operators.
 * 400 without the id · 404 none that the caller may see.   AGTP "INSPECT", "Sessions"
 */

import { isOperating, maySee } from "../../dispatch/approvals/escalation-authority.ts";
import type { OperatorPolicy } from "../../dispatch/caller/operator.ts";
import { badRequest, notFound, type Refusal } from "../../dispatch/refusals/refusal.ts";
import { floorResult } from "../../dispatch/routes/floor-result.ts";
import type { ExchangeView, RouteHandler } from "../../dispatch/routes/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import { escalationView } from "../../state/registers/escalation.ts";
import type { SessionRegister } from "../../state/registers/session-register.ts";
import type { ServerState } from "../../state/state.ts";

interface TaskInspectionOptions extends Pick<ServerState, "escalations" | "suspensions"> {
  readonly sessions: Pick<SessionRegister, "find">;
  readonly policy: OperatorPolicy;
}

/** One handler a target. */
export function taskInspections(options: TaskInspectionOptions): ReadonlyMap<string, RouteHandler> {
  return new Map<string, RouteHandler>([
    ["escalation", (call, exchange) => inspectEscalation(options, call, exchange)],
    ["session", (call, exchange) => inspectSession(options, call, exchange)],
  ]);
}

type Answer = HandlerSuccess | Refusal;

function inspectEscalation(
  { escalations, policy }: TaskInspectionOptions,
  call: Call,
  exchange: ExchangeView,
): Answer {
  const id = call.input["escalation_id"];
  if (typeof id !== "string") return missing("escalation_id");
  const escalation = escalations.find(id);
  if (escalation === undefined || !maySee(escalation, exchange, policy)) {
    return notFound("record-not-found", "no escalation that concerns the caller has this id");
  }
  return floorResult(call, { target: "escalation", ...escalationView(escalation, Date.now()) });
}

/** The record of one session: whose it is, how it stands, when it was last used. */
function inspectSession(
  { sessions, suspensions, policy }: TaskInspectionOptions,
  call: Call,
  exchange: ExchangeView,
): Answer {
  const id = call.input["session_id"] ?? call.sessionId;
  if (typeof id !== "string") return missing("session_id");
  const session = sessions.find(id);
  const hold = suspensions.holdOf(id);
  const agentId = hold?.agentId ?? session?.agentId;
  const isOwn = agentId !== undefined && agentId === exchange.caller.agentId;
  if (agentId === undefined || !(isOwn || isOperating(exchange, policy))) {
    return notFound("record-not-found", "the caller has no session with this session_id");
  }
  const lastActivityAt = session?.lastActivityAt ?? hold?.suspendedAt ?? 0;
  return floorResult(call, {
    target: "session",
    session_id: id,
    agent_id: agentId,
    state: hold?.state ?? "active",
    last_activity_at: new Date(lastActivityAt).toISOString(),
    ...(hold === undefined
      ? {}
      : {
          suspension_id: hold.suspensionId,
          reason: hold.reason ?? null,
          suspended_at: new Date(hold.suspendedAt).toISOString(),
          resume_by: new Date(hold.resumeBy).toISOString(),
        }),
  });
}

function missing(parameter: "escalation_id" | "session_id"): Refusal {
  return badRequest("missing-target-id", `${parameter} is required by this target`, { parameter });
}
