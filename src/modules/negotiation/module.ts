/**
 * Assembles a deployment's contracts: the gates' questions, the negotiating route, PROPOSE and PLAN. Each deployment
 * has its own assembly over shared stored state.   AGTP-API §10
 */
import { inGroups } from "../../base/groups.ts";
import { inSlices, mapPaced } from "../../base/paced.ts";
import {
  createContractRecorder,
  recordAccepted,
} from "../../dispatch/contracts/contract-events.ts";
import { ContractRoutes } from "../../dispatch/contracts/contract-routes.ts";
import {
  type ContractEnd,
  endContracts,
  sessionEndOf,
} from "../../dispatch/contracts/end-contracts.ts";
import type { Module, Negotiation } from "../../dispatch/module/module.ts";
import {
  MAX_SOURCE_ENTRIES,
  type QueryEntry,
  type QuerySource,
} from "../../dispatch/module/query-source.ts";
import {
  describeBy,
  type FloorMethod,
  floorEndpoints,
  isProtocolPair,
} from "../../dispatch/routes/floor.ts";
import { protocolRoutes } from "../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import { type Contract, contractEntry } from "../../endpoint/contract.ts";
import type { Call } from "../../handlers/handler.ts";
import type { ContractRegister } from "../../state/registers/contract-register.ts";
import type { NegotiationSections } from "./config.ts";
import { createLateSynthesis, synthesisFaults } from "./late-synthesis.ts";
import { createLatePlanPlaces, planMethod } from "./plan-method/plan-method.ts";
import { proposalEndpoints } from "./propose/pending-proposals.ts";
import { contractOffers, evaluatePending, proposeMethod } from "./propose/propose.ts";
import { createContractSchemas } from "./propose/proposed-schema.ts";
import type { SubmittedProposal } from "./propose/read-proposal.ts";
import { negotiationRoute } from "./rcns/negotiation-route.ts";
import { type NegotiationParts, openNegotiation } from "./state.ts";

export const negotiationModule: Module<NegotiationSections> = {
  name: "negotiation",
  takes: { policies: true, synthesis: true },
  async provision(context) {
    const { policies, synthesis } = context.config;
    const kept = await context.once(openNegotiation);
    const lateSynthesis = createLateSynthesis(context);
    const places = createLatePlanPlaces(context, lateSynthesis);
    const parts = { ...kept, context, lateSynthesis, record: createContractRecorder(context) };
    const { synthesisEnabled } = policies;
    const methods = new Map<string, FloorMethod>([
      ["PLAN", planMethod(places, context.work)],
      ["PROPOSE", proposeMethod(parts)],
    ]);
    const isNegotiating = synthesisEnabled && policies.rcns.enabled;
    // Pending proposals remain queryable even if no new ones are accepted.
    const isAsked = synthesis.asyncEvaluation || kept.proposals.size > 0;
    const endpoints = [
      ...floorEndpoints(methods, describeBy(context.catalog)),
      ...(isAsked ? proposalEndpoints(kept.proposals) : []),
    ];
    return {
      routes: protocolRoutes(endpoints, context),
      sources: [contractSource(context.state.contracts)],
      negotiation: negotiationOf(parts),
      features: [...(synthesisEnabled ? ["synthesis"] : []), ...(isNegotiating ? ["rcns"] : [])],
      prepare: async () => {
        await places();
      },
      start: () => takeUp(parts),
    };
  },
};

/** Handles what an earlier process left: pending proposals, and contracts that can no longer be called. */
function takeUp(parts: NegotiationParts): void {
  const onFault = synthesisFaults(parts.context);
  const evaluate = (...asked: [SubmittedProposal, string]) => evaluatePending(parts, ...asked);
  parts.proposals.evaluateBy({ evaluate, onFault });
  void endLeftContracts(parts).catch(onFault);
}

/** Answers the gates' questions about contracts, and provides the route behind open locks. */
function negotiationOf(parts: NegotiationParts): Negotiation {
  const { context, record } = parts;
  const { attempts } = context;
  const { rcns, synthesisEnabled } = context.config.policies;
  const { contracts: register } = context.state;
  const schemas = createContractSchemas();
  const accepted = (contract: Contract, call: Call, exchange: ExchangeView) =>
    recordAccepted(record, contract, { call, exchange });
  const routes = new ContractRoutes({
    ...{ register, attempts, accepted, isFloor: isProtocolPair },
    compile: (schema) => schemas.compile(schema),
  });
  if (!rcns.enabled || !synthesisEnabled) return { routes, route: undefined, offers: undefined };
  const route = negotiationRoute({ ...parts, routes, accepted });
  return { routes, route, offers: contractOffers(parts, routes) };
}

/**
 * Ends the contracts of ended sessions, and those with a method that the catalog no longer has, so that an agent
 * presenting one is refused before its first step.   AGTP-API §4.5, §10.8
 */
async function endLeftContracts({ context, record }: NegotiationParts): Promise<void> {
  const { methodPolicy, log, state } = context;
  const { contracts: register, suspensions } = state;
  const endOf = (contract: Contract): readonly ContractEnd[] => {
    const hold = sessionEndOf(suspensions, contract);
    if (hold !== undefined)
      return [{ contract, state: "released", reason: `session-${hold.state}` }];
    const { endpoint, plan } = contract;
    const gone = [endpoint, ...plan.steps].find(({ method }) => !methodPolicy.isKnown(method));
    if (gone === undefined) return [];
    const explanation = `the catalog has no method ${gone.method} any more`;
    return [{ contract, state: "revoked", reason: "catalog-method-removed", explanation }];
  };
  const ends = (await inSlices(mapPaced(register.eachOpen(), endOf))).flat();
  const ended = await inGroups(ends, (group) => endContracts({ register, record }, group));
  for (const { contract, state, explanation } of ended) {
    if (state !== "revoked") continue;
    const { synthesisId, agentId } = contract;
    log.warn(
      { event: "contract-revoked", synthesis_id: synthesisId, agent_id: agentId },
      explanation,
    );
  }
}

/**
 * The caller's own contracts with their pairs; operators see those of others by DISCOVER and INSPECT.   AGTP-API
 * §5.8.7, §10.1.4
 */
export function contractSource(contracts: Pick<ContractRegister, "active">): QuerySource {
  return {
    name: "contract",
    entries: async ({ caller: { agentId } }) =>
      agentId === undefined
        ? []
        : contracts
            .active(agentId)
            .toSorted((one, other) => other.issuedAt - one.issuedAt)
            .slice(0, MAX_SOURCE_ENTRIES)
            .map(foundContract),
  };
}

function foundContract(contract: Contract): QueryEntry {
  const { endpoint, synthesisId } = contract;
  const { method, path, description, semantic } = endpoint;
  return {
    id: synthesisId,
    texts: [`${method} ${path}`, semantic.intent, description, semantic.outcome],
    content: {
      ...contractEntry(contract),
      ...endpoint,
      tier: "C",
      callable: true,
      headers: { "Contract-Synthesized": synthesisId },
    },
  };
}
