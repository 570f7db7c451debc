/**
 * QUERY /escalations and /escalations/{escalation_id}, and INSPECT: what waits for a decision, for those
 * whom it concerns; and CONFIRM there, for those who decide. 404 none that the caller may see.
 * AGTP "ESCALATE", "CONFIRM", "INSPECT"
 */
import { given } from "../../base/json-value.ts";
import { CONFIRM_SCHEMA } from "../../dispatch/approvals/confirmation.ts";
import { maySee } from "../../dispatch/approvals/escalation-authority.ts";
import type { OperatorPolicy } from "../../dispatch/caller/operator.ts";
import type { QueryEntry, QuerySource } from "../../dispatch/module/query-source.ts";
import { badRequest, notFound, type Refusal } from "../../dispatch/refusals/refusal.ts";
import { type FloorMethod, floorResult } from "../../dispatch/routes/floor.ts";
import type { ProtocolEndpoint } from "../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView, RouteHandler } from "../../dispatch/routes/route.ts";
import {
  ESCALATION_STATUSES,
  type Escalation,
  escalationView,
} from "../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";

interface EscalationEndpointOptions {
  readonly escalations: Pick<EscalationRegister, "find" | "list">;
  readonly policy: OperatorPolicy;
  readonly confirm: FloorMethod;
}

const ID = { type: "string", minLength: 1, maxLength: 128 };
const OPEN: readonly unknown[] = ["pending_review", "deferred"];
const USUAL_LIMIT = 50;
const MOST = 200;

const READING = {
  method: "QUERY",
  capability: "retrieval",
  impact: "informational",
  isListed: false,
} as const;

/** The endpoints. */
export function escalationEndpoints(
  options: EscalationEndpointOptions,
): readonly ProtocolEndpoint[] {
  return [
    {
      ...READING,
      path: "/escalations",
      description: "Returns the escalations that concern the caller and wait for a decision.",
      inputSchema: {
        type: "object",
        properties: {
          status: { enum: ["open", "all", ...ESCALATION_STATUSES] },
          limit: { type: "integer", minimum: 1, maximum: MOST },
          after: ID,
        },
      },
      handler: listHandler(options),
    },
    {
      ...READING,
      path: "/escalations/{escalation_id}",
      description: "Returns one escalation, and what was decided.",
      inputSchema: { type: "object", properties: { escalation_id: ID } },
      looksUp: ["escalation_id"],
      handler: readHandler(options),
    },
    {
      ...options.confirm,
      method: "CONFIRM",
      path: "/escalations/{escalation_id}",
      description: "Decides an escalation.",
      capability: "mechanics",
      impact: "reversible",
      isListed: false,
      inputSchema: {
        ...CONFIRM_SCHEMA,
        examples: [
          { escalation_id: "esc-0197a3f0-0000-7000-8000-000000000000", status: "accepted" },
        ],
      },
    },
  ];
}

function listHandler({ escalations, policy }: EscalationEndpointOptions): RouteHandler {
  return (call, exchange) => {
    const { status = "open", limit = USUAL_LIMIT, after } = call.input;
    const seen = escalations
      .list()
      .filter((one) => maySee(one, exchange, policy))
      .filter((one) => status === "all" || isWanted(one.status, status))
      // Ids sort by creation time, across nodes.
      .toSorted((one, other) => (one.escalationId < other.escalationId ? 1 : -1));
    const isFurther = ({ escalationId }: Escalation): boolean =>
      typeof after !== "string" || escalationId < after;
    const further = seen.filter(isFurther);
    const shown = fitting(further.slice(0, Number(limit)));
    const next = further.length > shown.length ? shown.at(-1)?.escalationId : undefined;
    return floorResult(call, {
      escalations: shown.map(escalationView),
      ...{ count: shown.length, total: seen.length },
      // The cursor for older entries, if there are any.
      ...given({ next }),
    });
  };
}

/** JSON characters of one answer, which is encoded in one turn: a page's contexts could be 128 MB. */
const MOST_CHARACTERS = 524_288;

/** The first escalations that fit into one answer; at least one. */
function fitting(escalations: readonly Escalation[]): readonly Escalation[] {
  let room = MOST_CHARACTERS;
  const end = escalations.findIndex(({ context }, at) => {
    room -= JSON.stringify(context ?? null).length;
    return room < 0 && at > 0;
  });
  return end < 0 ? escalations : escalations.slice(0, end);
}

function isWanted(status: string, wanted: unknown): boolean {
  return wanted === "open" ? OPEN.includes(status) : status === wanted;
}

function readHandler({ escalations, policy }: EscalationEndpointOptions): RouteHandler {
  return (call, exchange) => {
    const escalation = findSeen({ escalations, policy }, call.input["escalation_id"], exchange);
    if ("kind" in escalation) return escalation;
    return floorResult(call, escalationView(escalation));
  };
}

/** Finds an escalation; 404 if there is none that the caller may see. */
function findSeen(
  { escalations, policy }: Pick<EscalationEndpointOptions, "escalations" | "policy">,
  id: unknown,
  exchange: ExchangeView,
): Escalation | Refusal {
  const escalation = escalations.find(String(id));
  if (escalation !== undefined && maySee(escalation, exchange, policy)) return escalation;
  return notFound("record-not-found", "no escalation that concerns the caller has this id");
}

/** The most that one query searches. */
const MAX_ENTRIES = 500;

/** Escalations for QUERY: those that the caller raised or received; operators find all. */
export function escalationSource({
  escalations,
  policy,
}: Pick<EscalationEndpointOptions, "escalations" | "policy">): QuerySource {
  return {
    name: "escalation",
    entries: async (asker) =>
      escalations
        .list()
        .filter((escalation) => maySee(escalation, asker, policy))
        .slice(0, MAX_ENTRIES)
        .map(entryOf),
  };
}

function entryOf(escalation: Escalation): QueryEntry {
  const { escalationId, taskId = "", reason = "", status, context, decision } = escalation;
  return {
    id: escalationId,
    texts: [`escalation ${status} ${reason} ${taskId}`, context, decision?.reason],
    content: escalationView(escalation),
  };
}

/** INSPECT of an escalation: 400 without the id.   AGTP "INSPECT" */
export function inspectEscalation(
  options: Pick<EscalationEndpointOptions, "escalations" | "policy">,
): RouteHandler {
  return (call, exchange) => {
    const id = call.input["escalation_id"];
    if (typeof id !== "string") return missingTarget("escalation_id");
    const escalation = findSeen(options, id, exchange);
    if ("kind" in escalation) return escalation;
    return floorResult(call, { target: "escalation", ...escalationView(escalation) });
  };
}

/** 400: the target is inspected by its id. */
export function missingTarget(parameter: "escalation_id" | "session_id"): Refusal {
  return badRequest("missing-target-id", `${parameter} is required by this target`, { parameter });
}
