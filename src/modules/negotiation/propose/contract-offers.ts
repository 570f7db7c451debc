/**
 * Offers for clients of other protocols. What was proposed is previewed, and the word on it comes
 * later: 263 the contract is made · 461 it is declined, or shown once more · 464 it is over, or
 * another's · 404 it never was.   AGTP-API §10.1.3
 */
import type { ContractOffers, OfferDecision } from "../../../dispatch/contracts/contract-offers.ts";
import type { ContractRoutes } from "../../../dispatch/contracts/contract-routes.ts";
import { notFound, type Refusal } from "../../../dispatch/refusals/refusal.ts";
import { refuseContract } from "../../../dispatch/refusals/refuse-contract.ts";
import { describeBy, floorEndpoints } from "../../../dispatch/routes/floor.ts";
import { protocolRoute, protocolRoutes } from "../../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView, Route } from "../../../dispatch/routes/route.ts";
import type { Contract } from "../../../endpoint/contract.ts";
import type { Call, HandlerSuccess } from "../../../handlers/handler.ts";
import type { NegotiationContext } from "../config.ts";
import { acceptedBody, previewContract } from "../contracts/grant-contract.ts";
import { type ProposeOptions, proposeMethod } from "./propose.ts";

/** The routes of offers: one that proposes, and one that decides on what was offered. */
export function contractOffers(
  context: NegotiationContext,
  options: ProposeOptions,
  routes: Pick<ContractRoutes, "agree">,
): ContractOffers {
  return { propose: proposeRoute(context, options), decide: decisionRoute(context, routes) };
}

function proposeRoute(context: NegotiationContext, options: ProposeOptions): Route {
  const method = proposeMethod({ ...options, isOffering: true });
  const endpoints = floorEndpoints(new Map([["PROPOSE", method]]), describeBy(context.catalog));
  const [route] = protocolRoutes(endpoints, context);
  if (route === undefined) throw new Error("PROPOSE has no route");
  return route;
}

function decisionRoute(context: NegotiationContext, routes: Pick<ContractRoutes, "agree">): Route {
  const { attempts, state } = context;
  const { contracts: register } = state;
  return protocolRoute({
    ...{ method: "PROPOSE", path: "/", capability: "domain_spanning", impact: "reversible" },
    description: "Takes the word of an agent on a contract that it was offered.",
    ...{ isReading: false, isListed: false, inputSchema: DECISION_SCHEMA },
    handler: async (call, exchange) => {
      const { synthesis_id: synthesisId, decision } = call.input as unknown as Decision;
      const found = register.present(synthesisId, exchange.caller.document?.agentId);
      if (found.kind === "unknown") {
        return notFound("contract-not-found", "no contract with this synthesis_id");
      }
      if (found.kind === "usable") return decide(found.contract, { decision, call, exchange });
      const reason = found.kind === "foreign" ? "contract-not-yours" : "contract-revoked";
      const explanation = found.kind === "foreign" ? FOREIGN : `the offer is over`;
      return refuseContract(exchange, attempts, reason, explanation);
    },
  });

  async function decide(
    contract: Contract,
    { decision, call, exchange }: Decided,
  ): Promise<HandlerSuccess | Refusal> {
    if (decision === "accept") {
      await routes.agree(contract, call, exchange);
      return { status: 263, body: acceptedBody(contract) };
    }
    const isDeclined = decision === "decline" && contract.state === "offered";
    if (isDeclined) await register.change(contract.synthesisId, "released", DECLINED);
    return previewContract(contract);
  }
}

interface Decision {
  readonly synthesis_id: string;
  readonly decision: OfferDecision;
}

interface Decided {
  readonly decision: OfferDecision;
  readonly call: Call;
  readonly exchange: ExchangeView;
}

const DECLINED = "its agent has declined it";
const FOREIGN = "the contract is another agent's";

const DECISION_SCHEMA = {
  type: "object",
  properties: {
    synthesis_id: { type: "string", maxLength: 256 },
    decision: { enum: ["accept", "decline", "show"] },
  },
  required: ["synthesis_id", "decision"],
} as const;
