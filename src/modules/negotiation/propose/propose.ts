/**
 * PROPOSE: requests an endpoint that does not exist. 263 with the contract, 261 while being evaluated, or a refusal:
 * 463 `synthesis-disabled` first of all if the policy disables synthesis, and 463 after three rejections in a
 * negotiation.   AGTP-API §8.7, §10
 */

import type { ContractRoutes } from "../../../dispatch/contracts/contract-routes.ts";
import type { ContractOffers, OfferDecision } from "../../../dispatch/module/module.ts";
import { payerOf } from "../../../dispatch/rates/rates.ts";
import {
  authorizationRequired,
  badRequest,
  carryMore,
  proposalRejected,
  type Refusal,
  rateLimited,
  refusalBody,
  serverError,
} from "../../../dispatch/refusals/refusal.ts";
import { refusePresented } from "../../../dispatch/refusals/refuse-contract.ts";
import { describeBy, type FloorMethod, impactOf } from "../../../dispatch/routes/floor.ts";
import { protocolRoute } from "../../../dispatch/routes/protocol-endpoint.ts";
import type { Route, RouteHandler } from "../../../dispatch/routes/route.ts";
import type { CausingRequest } from "../../../dispatch/stream-events.ts";
import type { HandlerSuccess } from "../../../handlers/handler.ts";
import { compileGrants } from "../../../identity/authority-scope.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { isStoreUnavailable } from "../../../state/store-fault.ts";
import type { NegotiationContext } from "../config.ts";
import {
  acceptedContract,
  grantContract,
  offerContract,
  previewContract,
} from "../grant-contract.ts";
import type { NegotiationParts } from "../state.ts";
import { checkProposal, refuseForm, synthesizeInTurn } from "./evaluate-proposal.ts";
import type { ProposalAnswer } from "./pending-proposals.ts";
import { readProposal, type SubmittedProposal } from "./read-proposal.ts";

/** The parameters of PROPOSE; its many forms are parsed by hand instead of by schema. */
const PROPOSE_SCHEMA: Readonly<Record<string, unknown>> = {
  type: "object",
  examples: [
    {
      endpoint: {
        method: "BOOK",
        path: "/stays",
        description: "Books a room and orders something for its guest.",
        semantic: {
          ...{ intent: "Book a room with a welcome.", actor: "agent", outcome: "Both are booked." },
          ...{ capability: "transaction", confidence: 0.8 },
          ...{ impact: "reversible", is_idempotent: false },
        },
        input_schema: { type: "object", properties: { guest_name: { type: "string" } } },
        output_schema: { type: "object" },
      },
    },
  ],
};

/** Members whose nesting is not checked at the gate: too deep a schema is malformed, hence 400.   §10.6 */
const SCHEMA_MEMBERS: ReadonlySet<string> = new Set(["input_schema", "output_schema"]);

type Answer = HandlerSuccess | Refusal;

/** PROPOSE on "/". With `isOffering` the answer is an immediate 461 with an offer, for agents that review it first. */
export function proposeMethod(parts: NegotiationParts, isOffering = false): FloorMethod {
  const handler: RouteHandler = (call, exchange) => {
    if (!parts.context.config.policies.synthesisEnabled) {
      return proposalRejected("synthesis-disabled", "this server does not synthesize endpoints");
    }
    if (exchange.contract !== undefined) {
      return proposalRejected("policy-refused", "what runs under a contract makes no other one");
    }
    return propose(parts, { call, exchange }, isOffering);
  };
  return { inputSchema: PROPOSE_SCHEMA, deepMembers: SCHEMA_MEMBERS, handler };
}

/** Answers one turn of a negotiation. */
async function propose(
  parts: NegotiationParts,
  request: CausingRequest,
  isOffering: boolean,
): Promise<Answer> {
  const { exchange } = request;
  const { agentId = "", document } = exchange.caller;
  const turns = document === undefined ? parts.turnsOfStrangers : parts.turns;
  const turn = await turns.next(agentId, exchange.header("negotiation-id"));
  if (turn.kind === "unknown") {
    const message = "no negotiation of this agent has this Negotiation-ID";
    return badRequest("unknown-negotiation", message, { reason: "unknown-negotiation" });
  }
  const { negotiationId } = turn;
  if (turn.kind === "exhausted") return withNegotiation(exhausted(), negotiationId);
  const answer = await evaluate(parts, request, { negotiationId, isOffering });
  const isRejected = "kind" in answer && answer.status === 463;
  const isBeyond = isRejected && (await turns.reject(negotiationId));
  return withNegotiation(isBeyond ? exhausted() : answer, negotiationId);
}

async function evaluate(
  parts: NegotiationParts,
  request: CausingRequest,
  { negotiationId, isOffering }: { readonly negotiationId: string; readonly isOffering: boolean },
): Promise<Answer> {
  const { call, exchange } = request;
  const { agentId = "", authority, document } = exchange.caller;
  const reading = readProposal(call.input);
  if ("reason" in reading) return refuseForm(reading);
  const { context, proposals } = parts;
  const { work, config } = context;
  const owner = payerOf(exchange);
  if (!work.hasRoom(owner)) return rateLimited("work", 1);
  const proposal = await work.run(() => checkProposal(reading, context), owner);
  if ("kind" in proposal) return proposal;
  // Contracts are stored, and only known agents may cause writes.
  if (document === undefined) return unknownAgent();
  const { scopes } = authority;
  const submitted = { agentId, sessionId: call.sessionId, negotiationId, scopes, proposal };
  if (config.synthesis.asyncEvaluation && !isOffering) return proposals.submit(submitted);
  const planned = await synthesizeInTurn(parts, proposal, { authority, owner });
  if (planned.kind === "refusal") return planned;
  if (isOffering) return offerContract(context, submitted, planned);
  return grantContract(parts, submitted, planned, { cause: request });
}

function unknownAgent(): Refusal {
  const message = "contracts are made with agents that this server knows";
  return authorizationRequired("credentials-missing", message);
}

function exhausted(): Refusal {
  const explanation = "three proposals were rejected: escalate";
  return proposalRejected("policy-refused", explanation, { escalate: true });
}

/** Adds the negotiation to an answer.   AGTP "Negotiation-ID" */
function withNegotiation(answer: Answer, negotiationId: string): Answer {
  const headers = { ...answer.headers, "Negotiation-ID": negotiationId };
  if (!("kind" in answer)) return { ...answer, headers };
  return { ...carryMore(answer, { negotiation_id: negotiationId }), headers };
}

/**
 * Evaluates a pending proposal under the authority of its request, with PROPOSE's answer, or 500 for a fault.
 * AGTP-API §10.6, §11
 * @throws if the store fails or the server stops; it is evaluated later
 */
export async function evaluatePending(
  parts: NegotiationParts,
  submitted: SubmittedProposal,
  proposalId: string,
): Promise<ProposalAnswer> {
  try {
    return await answerPending(parts, submitted, proposalId);
  } catch (error) {
    if (isStoreUnavailable(error) || parts.context.stopping.signal.aborted) throw error;
    // A fault is an answer, too, so that the caller stops querying.
    const errorId = uuidv7();
    parts.context.log.warn({ error, error_id: errorId }, "a proposal could not be evaluated");
    return { status: 500, body: refusalBody(serverError(errorId)) };
  }
}

async function answerPending(
  parts: NegotiationParts,
  submitted: SubmittedProposal,
  proposalId: string,
): Promise<ProposalAnswer> {
  const { agentId, negotiationId, scopes, proposal } = submitted;
  // Only known agents' proposals become pending.
  const owner = { key: agentId, isKnown: true };
  const authority = compileGrants(scopes);
  const planned = await synthesizeInTurn(parts, proposal, { authority, owner });
  const answer =
    planned.kind === "refusal"
      ? planned
      : await grantContract(parts, submitted, planned, { proposalId });
  if (!("kind" in answer)) return { status: answer.status ?? 200, body: answer.body };
  const isBeyond = answer.status === 463 && (await parts.turns.reject(negotiationId, proposalId));
  const refused = carryMore(isBeyond ? exhausted() : answer, { negotiation_id: negotiationId });
  return { status: refused.status, body: refusalBody(refused) };
}

/**
 * Routes of offers, for clients of other protocols: one previews a proposal, the other decides on the offer: 263 the
 * contract is active · 461 declined, or shown again · 464 ended, or another agent's · 404 unknown.   AGTP-API §10.1.3
 */
export function contractOffers(
  parts: NegotiationParts,
  routes: Pick<ContractRoutes, "agree">,
): ContractOffers {
  const { context } = parts;
  const method = "PROPOSE";
  const previewing = {
    ...{ method, path: "/", impact: impactOf(method), isListed: false },
    ...describeBy(context.catalog)(method),
    ...proposeMethod(parts, true),
  };
  return { propose: protocolRoute(previewing, context), decide: decisionRoute(context, routes) };
}

function decisionRoute(context: NegotiationContext, routes: Pick<ContractRoutes, "agree">): Route {
  const { attempts, state } = context;
  const { contracts: register } = state;
  return protocolRoute({
    ...{ method: "PROPOSE", path: "/", capability: "domain_spanning", impact: "reversible" },
    description: "Takes the word of an agent on a contract that it was offered.",
    ...{ isListed: false, inputSchema: DECISION_SCHEMA },
    handler: async (call, exchange) => {
      const { synthesis_id: synthesisId, decision } = call.input as unknown as Decision;
      const find = () => register.present(synthesisId, exchange.caller.document?.agentId);
      const offer = find();
      if (offer.kind !== "usable") return refusePresented(offer, exchange, attempts);
      const { contract } = offer;
      if (decision === "decline") await register.decline(synthesisId, DECLINED);
      if (decision !== "accept") return previewContract(contract);
      await routes.agree(contract, call, exchange);
      const settled = find();
      if (settled.kind !== "usable") return refusePresented(settled, exchange, attempts);
      return acceptedContract(contract);
    },
  });
}

interface Decision {
  readonly synthesis_id: string;
  readonly decision: OfferDecision;
}

const DECLINED = "its agent has declined it";

const DECISION_SCHEMA = {
  type: "object",
  properties: {
    synthesis_id: { type: "string", maxLength: 256 },
    decision: { enum: ["accept", "decline", "show"] },
  },
  required: ["synthesis_id", "decision"],
} as const;
