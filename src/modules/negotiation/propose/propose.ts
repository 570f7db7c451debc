/**
 * PROPOSE: asks for an endpoint that does not exist. 263 with the contract, 261 while it is being
 * evaluated, else why not: 463 `synthesis-disabled` before anything else where the policy switches
 * synthesis off, and 463 once more when a negotiation has had its three rejections.
 * AGTP-API §8.7, §10
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

/** Parameters of PROPOSE; its forms are too many for a schema, and are read by hand. */
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

/**
 * A schema that is nested too deeply is malformed like any other: 400, and not at the gate.   §10.6
 */
const SCHEMA_MEMBERS: ReadonlySet<string> = new Set(["input_schema", "output_schema"]);

type Answer = HandlerSuccess | Refusal;

/** PROPOSE on "/". `isOffering`: its answer is 461 and an offer, at once, for agents that want to see it first. */
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
  // Contracts are kept, and only agents that this server knows make it write.
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

/** Every answer of a negotiation says which one it belongs to.   AGTP "Negotiation-ID" */
function withNegotiation(answer: Answer, negotiationId: string): Answer {
  const headers = { ...answer.headers, "Negotiation-ID": negotiationId };
  if (!("kind" in answer)) return { ...answer, headers };
  return { ...carryMore(answer, { negotiation_id: negotiationId }), headers };
}

/**
 * Answers a proposal that was taken on with 261, under the authority that it was made with: what
 * PROPOSE would have said, and 500 where that was a fault.   AGTP-API §10.6, §11
 * @throws where the store fails, or the server stops: it is evaluated later
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
    // A caller that asks for the answer must not ask for ever.
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
  // Only agents that this server knows have their proposals taken on.
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
 * The routes of offers, for clients of other protocols: one previews what was proposed, the other takes
 * the decision on it: 263 the contract is made · 461 it is declined, or shown once more · 464 it is over,
 * or another's · 404 it never was.   AGTP-API §10.1.3
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
