/**
 * INSPECT: records of this server, for callers that `inspect_acl` admits. Targets `audit`,
 * `chain_head` and `lifecycle`. 400 without the parameter that the target needs · 401 and 403 by the
 * access list · 404 no such record · 410 a record that retention took away.   AGTP "INSPECT"
 */

import { FairSlots } from "../../base/fair-shares.ts";
import type { JsonRecord } from "../../base/json-value.ts";
import { atOnce, mapPaced, type Paced } from "../../base/paced.ts";
import { isDisclosedTo } from "../../dispatch/caller/disclosure.ts";
import { operatorOf } from "../../dispatch/caller/operator.ts";
import type { IdentityConfig } from "../../dispatch/policy/policies-section.ts";
import { payerOf } from "../../dispatch/rates/rates.ts";
import {
  agentNotFound,
  agentUnauthenticated,
  badRequest,
  forbidden,
  notFound,
  type Refusal,
  rateLimited,
} from "../../dispatch/refusals/refusal.ts";
import { recordGone } from "../../dispatch/refusals/store-refusals.ts";
import { floorResult } from "../../dispatch/routes/floor.ts";
import type { ExchangeView, RouteHandler } from "../../dispatch/routes/route.ts";
import type { Call, HandlerSuccess } from "../../handlers/handler.ts";
import { isSha256 } from "../../identity/identifiers.ts";
import { decodeJws } from "../../identity/jws.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { JournalRecord } from "../../state/journal/journal.ts";
import type { Ledger } from "../../state/records/ledger.ts";
import { type FloorContext, inspectAttempt, inspectContract } from "./contracts.ts";

const MAX_EVENTS = 1000;
/** So many are decoded at once, in a millisecond or two; more are decoded in steps. */
const USUAL_EVENTS = 100;
/** Concurrent searches for records: an unknown Audit-ID is searched in every segment of the journal. */
const MAX_LOOK_UPS = 4;

const ID = { type: "string", maxLength: 256 };
const TARGETS = ["audit", "chain_head", "lifecycle", "contract", "rcns-attempt"];

/** Parameters of INSPECT; the handler checks which of them a target needs. */
export function inspectSchema({ inspections }: FloorContext): JsonSchema {
  return {
    type: "object",
    required: ["target"],
    properties: {
      target: { enum: [...TARGETS, ...inspections.keys()] },
      audit_id: { type: "string" },
      agent_id: { type: "string" },
      synthesis_id: { type: "string" },
      attempt_id: { type: "string" },
      ...{ notification_id: ID, escalation_id: ID, session_id: ID },
      limit: { type: "integer", minimum: 1 },
      context: { type: "object" },
    },
    examples: [{ target: "chain_head", agent_id: "0".repeat(64) }],
  };
}

/** The handler of INSPECT on "/". */
export function inspectHandler(context: FloorContext): RouteHandler {
  const { config, state } = context;
  const records = { config, ledger: state.ledger, lookUps: new FairSlots(MAX_LOOK_UPS) };
  return (call, exchange) => {
    const other = context.inspections.get(String(call.input["target"]));
    if (other !== undefined) return other(call, exchange);
    switch (call.input["target"]) {
      case "audit":
        return inspectAudit(records, call, exchange);
      case "chain_head":
        return inspectChainHead(context, call, exchange);
      case "lifecycle":
        return inspectLifecycle(context, call, exchange);
      case "contract":
        return inspectContract(context, call, exchange);
      default:
        return inspectAttempt(context, call, exchange);
    }
  };
}

interface AuditParts extends Pick<FloorContext, "config"> {
  readonly ledger: Pick<Ledger, "find" | "whereCut">;
  readonly lookUps: FairSlots;
}

async function inspectAudit(
  { config, ledger, lookUps }: AuditParts,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const { audit_id: auditId } = call.input;
  if (typeof auditId !== "string") return missing("audit_id");
  if (!isSha256(auditId)) {
    const message = "audit_id must be 64 lower-case hex characters";
    return badRequest("invalid-audit-id", message, { parameter: "audit_id" });
  }
  const policy = config.policies.identity;
  const anonymous = refuseStranger(exchange, policy);
  if (anonymous !== undefined) return anonymous;
  const leave = await lookUps.take(payerOf(exchange).key, call.signal);
  const { jws, where } = await look(ledger, auditId).finally(leave);
  const decoded = jws === undefined ? undefined : decodeJws(jws);
  if (decoded === undefined) {
    if (where !== undefined) return recordGone(where);
    return notFound("record-not-found", "no record has this Audit-ID");
  }
  const { header, payload } = decoded;
  const refusal = refuseSubject(exchange, payload["agent_id"], policy);
  if (refusal !== undefined) return refusal;
  const found = { audit_id: auditId, jws };
  const result = { target: "audit", ...found, header, payload, issued_at: payload["issued_at"] };
  // Older chain inspectors look for both beside `result`.
  return floorResult(call, result, 200, found);
}

/** Finds a record, or the place that retention moved it to. */
async function look(ledger: AuditParts["ledger"], auditId: string) {
  const jws = await ledger.find(auditId);
  return { jws, where: jws === undefined ? await ledger.whereCut(auditId) : undefined };
}

async function inspectChainHead(
  context: FloorContext,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const agentId = subjectOf(context, call, exchange);
  if (typeof agentId !== "string") return agentId;
  const head = await context.state.ledger.currentHeadOf(agentId);
  if (head === undefined) return notFound("record-not-found", "the agent has no record here");
  const { auditId, at } = head;
  const lastAt = new Date(at).toISOString();
  return floorResult(call, {
    target: "chain_head",
    agent_id: agentId,
    audit_id: auditId,
    last_at: lastAt,
  });
}

async function inspectLifecycle(
  context: FloorContext,
  call: Call,
  exchange: ExchangeView,
): Promise<HandlerSuccess | Refusal> {
  const agentId = subjectOf(context, call, exchange);
  if (typeof agentId !== "string") return agentId;
  const { work } = context;
  const { lifecycle: register } = context.state;
  const agent = context.directory.find(agentId);
  if (agent === undefined) return agentNotFound();
  exchange.addressed = agent;
  const { limit = USUAL_EVENTS } = call.input;
  const owner = payerOf(exchange);
  if (!work.hasRoom(owner)) return rateLimited("work", 1);
  const records = await register.events(agentId, Math.min(Number(limit), MAX_EVENTS));
  const showing = showEvents(records);
  const events =
    records.length > USUAL_EVENTS ? await work.pace(showing, owner, call.signal) : atOnce(showing);
  return floorResult(call, {
    target: "lifecycle",
    agent_id: agentId,
    status: register.statusOf(agent),
    events,
    event_count: events.length,
  });
}

/** Shows each event as its JWS and decoded, an event a step. */
export function showEvents(records: readonly JournalRecord[]): Paced<readonly JsonRecord[]> {
  return mapPaced(records, ({ auditId, jws }) => {
    const { header, payload } = decodeJws(jws) ?? {};
    return { format: "jws", audit_id: auditId, jws, header, payload };
  });
}

/**
 * Resolves the agent that is asked about, by id or name, else the caller itself; refuses who may not ask. A name
 * stays unresolved for a caller that may not learn of its agent.
 */
function subjectOf(context: FloorContext, call: Call, exchange: ExchangeView): string | Refusal {
  const policy = context.config.policies.identity;
  const named = call.input["agent_id"] ?? call.agentId;
  if (typeof named !== "string") return missing("agent_id");
  const found = context.directory.resolve(named)?.agentId ?? named;
  const isShown =
    found === call.agentId ||
    isDisclosedTo(context, call.agentId) ||
    operatorOf(exchange.peer, policy) !== undefined;
  const agentId = isShown ? found : named;
  return refuseStranger(exchange, policy) ?? refuseSubject(exchange, agentId, policy) ?? agentId;
}

function missing(parameter: "audit_id" | "agent_id"): Refusal {
  const code = parameter === "audit_id" ? "missing-audit-id" : "missing-agent-id";
  return badRequest(code, `${parameter} is required by this target`, { parameter });
}

type Policy = Pick<IdentityConfig, "inspectAcl" | "operatorCertificates">;

/** 401 without a client certificate, unless the access list is public. */
function refuseStranger({ peer, caller }: ExchangeView, policy: Policy): Refusal | undefined {
  const { inspectAcl } = policy;
  if (inspectAcl === "public" || caller.isCertified || operatorOf(peer, policy) !== undefined) {
    return undefined;
  }
  if (inspectAcl === "operator_only" && peer.certificate !== undefined) return undefined;
  const message = "INSPECT on this server needs a client certificate";
  return agentUnauthenticated(message, "acl-anonymous-blocked", { acl: inspectAcl });
}

/** 403 if the record is about another agent. */
function refuseSubject(
  { peer, caller }: ExchangeView,
  subject: unknown,
  policy: Policy,
): Refusal | undefined {
  const { inspectAcl } = policy;
  if (inspectAcl === "public" || operatorOf(peer, policy) !== undefined) return undefined;
  const isOwn = inspectAcl === "agent_only" && caller.agentId === subject;
  if (isOwn) return undefined;
  const message = "INSPECT on this server is not open to this caller for this record";
  return forbidden("inspect-forbidden", message, { acl: inspectAcl });
}
