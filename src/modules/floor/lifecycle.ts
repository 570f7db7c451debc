/**
 * ACTIVATE, DEACTIVATE, REINSTATE, REVOKE and DEPRECATE of a hosted agent, on "/" with `agent_id` and
 * on the agent's own path. 401 and 403 by `lifecycle_auth` · 404 no such agent · 409 and 422 a change
 * that is not possible from where the agent stands · 503 an event that cannot be written.
 * AGTP "Lifecycle Methods"
 */
import { given, textIn } from "../../base/json-value.ts";
import { operatorOf, refuseAuthority } from "../../dispatch/caller/operator.ts";
import {
  agentNotFound,
  badRequest,
  lifecycleConflict,
  lifecycleInvalid,
  violationAt,
} from "../../dispatch/refusals/refusal.ts";
import { recordsUnavailable } from "../../dispatch/refusals/store-refusals.ts";
import { floorResult } from "../../dispatch/routes/floor.ts";
import type { ExchangeView, RouteHandler } from "../../dispatch/routes/route.ts";
import type { Call } from "../../handlers/handler.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import type { JournalRecord } from "../../state/journal/journal.ts";
import { UnknownOutcomeError } from "../../state/records/record-store.ts";
import type { LifecycleMethod } from "../../state/registers/lifecycle.ts";
import { StoreUnavailableError } from "../../state/store-fault.ts";
import { type FloorContext, revokeContract, sweepContracts } from "./contracts.ts";

type Answer = Awaited<ReturnType<RouteHandler>>;

/** Parameters of all five; the handler checks that REVOKE of an agent has a reason. */
export function lifecycleSchema(
  method: LifecycleMethod,
  { revocations }: FloorContext,
): Readonly<Record<string, unknown>> {
  const text = { type: "string", minLength: 1, maxLength: 1024 };
  const successor = {
    successor_agent_id: { type: "string", pattern: "^[0-9a-f]{64}$" },
    migration_deadline: { type: "string", format: "date-time" },
  };
  // They name a contract or a session to revoke.
  const named = { synthesis_id: text, session_id: text, mode: text };
  const isRevoke = method === "REVOKE";
  const others = ["contract", "stale-contracts", ...revocations.keys()];
  const targets = isRevoke ? ["agent", ...others] : ["agent"];
  return {
    type: "object",
    properties: {
      agent_id: { type: "string", minLength: 1, maxLength: 256 },
      agent: { type: "string", minLength: 1, maxLength: 256 },
      target: { enum: targets },
      actor: text,
      reason: text,
      ...(method === "DEPRECATE" ? successor : {}),
      ...(isRevoke ? named : {}),
    },
    examples: [{ agent_id: "0".repeat(64), reason: "it is not needed any more" }],
  };
}

/** Handles one of the five methods. */
export async function changeLifecycle(
  context: FloorContext,
  method: LifecycleMethod,
  call: Call,
  exchange: ExchangeView,
): Promise<Answer> {
  const { directory, attributor, config, state } = context;
  const policy = config.policies.identity;
  const { target = "agent" } = call.input;
  if (target === "contract") return revokeContract(context, call, exchange);
  if (target === "stale-contracts") return sweepContracts(context, call, exchange);
  const revoke = context.revocations.get(String(target));
  if (revoke !== undefined) return revoke(call, exchange);
  // REVOKE of an agent needs a reason; of a contract it does not.
  if (method === "REVOKE" && call.input["reason"] === undefined) {
    return violationAt("/reason", "required", "is required");
  }
  const named = nameOf(call, exchange);
  if (named === undefined) {
    return badRequest("missing-agent-id", "agent_id is required", { parameter: "agent_id" });
  }
  const agent = directory.resolve(named);
  const refusal = refuseAuthority(exchange, agent, {
    policy,
    certificates: state.certificates,
  });
  if (refusal !== undefined) {
    call.log.warn({ method, code: refusal.code }, "a lifecycle change was refused");
    return refusal;
  }
  // Checked after authority: the answer would tell a stranger that both names are one agent's.
  if (isOfAnother(call, named, directory)) {
    return violationAt("/agent_id", "const", "must be the agent that the path names");
  }
  if (agent === undefined) return agentNotFound();
  exchange.addressed = agent;
  if (!attributor.isWritable) return recordsUnavailable(attributor);
  const outcome = await state.lifecycle.apply({
    method,
    agent,
    details: { ...eventDetails(call), ...given({ operator: operatorOf(exchange.peer, policy) }) },
    record: (extension) => recordEvent(context, { call, exchange, agent, extension }),
  });
  switch (outcome.kind) {
    case "invalid":
      return lifecycleInvalid(outcome.message);
    case "conflict":
      return lifecycleConflict(outcome.message);
    case "unrecorded":
      return recordsUnavailable(attributor);
    case "noop": {
      const { status } = outcome;
      return floorResult(call, { ...ids(agent), status, previous_status: status, noop: true });
    }
    case "changed": {
      const { event, status, previousStatus } = outcome;
      return floorResult(call, {
        ...ids(agent),
        status,
        previous_status: previousStatus,
        event_type: event.eventType,
        audit_id: event.auditId,
      });
    }
  }
}

/** The agent that the path names, else the body, else the caller itself. */
function nameOf({ input, agentId }: Call, { path }: ExchangeView): string | undefined {
  const { agent, agent_id: written } = input;
  return textIn((path === "/" ? undefined : agent) ?? written ?? agentId);
}

/** True if the body names another agent than the path: an irreversible change must not pick one of two. */
function isOfAnother({ input }: Call, named: string, directory: AgentDirectory): boolean {
  const { agent_id: written } = input;
  if (typeof written !== "string" || written === named) return false;
  const other = directory.resolve(written);
  return other === undefined || other !== directory.resolve(named);
}

function ids({ agentId, name }: AgentDocument): Readonly<Record<string, string>> {
  return { agent_id: agentId, name };
}

/** The reason, actor and successor that the caller gives, with its own Agent-ID. */
function eventDetails({ input, agentId }: Call): Readonly<Record<string, unknown>> {
  const { reason, actor, successor_agent_id, migration_deadline } = input;
  const said = { reason, actor, successor_agent_id, migration_deadline };
  return given({ ...said, actor_agent_id: agentId });
}

/** The agent, the event's members, and the request that caused it. */
interface LifecycleEventFacts {
  readonly call: Call;
  readonly exchange: ExchangeView;
  readonly agent: AgentDocument;
  readonly extension: Readonly<Record<string, unknown>>;
}

/** Appends the event to the chain of its agent; undefined if it could not be written. */
async function recordEvent(
  { attributor, state: { ledger } }: FloorContext,
  { call, exchange, agent, extension }: LifecycleEventFacts,
): Promise<JournalRecord | undefined> {
  const draft = attributor.chained({
    agentId: agent.agentId,
    ownerId: agent.ownerId ?? "",
    requestId: call.requestId ?? "",
    responseId: exchange.responseId,
    actionId: uuidv7(),
    method: exchange.method,
    requestedMethod: exchange.requestedMethod,
    path: exchange.path,
    status: 200,
    sessionId: call.sessionId,
    taskId: call.taskId,
    principalId: call.principalId,
    assurance: exchange.peer.certificate === undefined ? "unverified" : "certificate-bound",
    requestBody: exchange.request.body,
    responseBody: "",
    extension,
  });
  try {
    await ledger.kept(draft);
  } catch (error) {
    // The ledger has logged the reason.
    if (!(error instanceof UnknownOutcomeError)) return undefined;
    exchange.markActed();
    throw new StoreUnavailableError("undecided", error);
  }
  exchange.markActed();
  return draft;
}
