/**
 * Everything about contracts that a deployment needs, put together: what the gates ask, the route
 * that negotiates, PROPOSE, and PLAN. Each deployment has its own; what it keeps outlives it.
 * AGTP-API §10
 */

import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import { recordAccepted, recordContractEvents } from "../../dispatch/contracts/contract-events.ts";
import { ContractRoutes } from "../../dispatch/contracts/contract-routes.ts";
import type { Module, Negotiation } from "../../dispatch/module/module.ts";
import { describeBy, type FloorMethod, floorEndpoints } from "../../dispatch/routes/floor.ts";
import { canonicalPair, isProtocolPair } from "../../dispatch/routes/pairs.ts";
import { protocolRoutes } from "../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { Contract } from "../../endpoint/contract.ts";
import { checkReservation } from "../../endpoint/method-rule.ts";
import type { Call } from "../../handlers/handler.ts";
import type { SchemaCompiler } from "../../schema/schema.ts";
import { exceptStoreFaults } from "../../state/store-fault.ts";
import type { NegotiationContext, NegotiationSections } from "./config.ts";
import { contractSource } from "./contracts/contract-source.ts";
import { endContractsWithoutMethod } from "./contracts/removed-methods.ts";
import { createLateSynthesis, type LateSynthesis } from "./late-synthesis.ts";
import { planMethod } from "./plan-method/plan-method.ts";
import { createLatePlanPlaces } from "./plan-method/plan-places.ts";
import type { ProposalRules } from "./propose/check-proposal.ts";
import { contractOffers } from "./propose/contract-offers.ts";
import { evaluatePending } from "./propose/evaluate-pending.ts";
import { type EvaluationParts, type ProposeOptions, proposeMethod } from "./propose/propose.ts";
import { createContractSchemas } from "./propose/proposed-schema.ts";
import { proposalEndpoints } from "./propose/query-proposal.ts";
import { negotiationRoute } from "./rcns/negotiation-route.ts";
import { type NegotiationState, openNegotiation } from "./state.ts";

export const negotiationModule: Module<NegotiationSections> = {
  name: "negotiation",
  takes: { policies: true, synthesis: true },
  async provision(context) {
    const { policies, synthesis } = context.config;
    const kept = await context.once(openNegotiation);
    const { proposals } = kept;
    const prepared = createLateSynthesis(context);
    const places = createLatePlanPlaces(context, prepared);
    const evaluation = evaluationParts(context, prepared, kept);
    const { synthesisEnabled } = policies;
    const proposeOptions = { ...evaluation, synthesisEnabled, proposals };
    const methods = new Map<string, FloorMethod>([
      ["PLAN", planMethod({ places, work: context.work })],
      ["PROPOSE", proposeMethod(proposeOptions)],
    ]);
    const isNegotiating = synthesisEnabled && policies.rcns.enabled;
    // A proposal that was taken on can be asked for, even where nothing more is.
    const isAsked = synthesis.asyncEvaluation || proposals.size > 0;
    const endpoints = [
      ...floorEndpoints(methods, describeBy(context.catalog)),
      ...(isAsked ? proposalEndpoints(proposals) : []),
    ];
    return {
      routes: protocolRoutes(endpoints, context),
      sources: [contractSource(context.state.contracts)],
      negotiation: negotiationOf(context, prepared, { ...kept, proposeOptions }),
      features: [...(synthesisEnabled ? ["synthesis"] : []), ...(isNegotiating ? ["rcns"] : [])],
      prepare: async () => {
        await places();
      },
      start: () => takeUp(context, evaluation, kept),
    };
  },
};

function evaluationParts(
  context: NegotiationContext,
  prepared: LateSynthesis,
  { turns }: NegotiationState,
): EvaluationParts {
  const { config, work, state } = context;
  return {
    ...{ rules: proposalRules(context), prepared, work, turns },
    synthesis: config.synthesis,
    register: state.contracts,
    record: recordContractEvents(context),
  };
}

function proposalRules(context: NegotiationContext): ProposalRules {
  const { catalog, names, methodPolicy } = context;
  return {
    ...{ catalog, names, methodPolicy, reservation },
    registered: (method, path) => {
      return context.deployment().registry.find(method, path)?.entry.definition;
    },
    canonical: (pair) => canonicalPair(methodPolicy, pair),
  };
}

/**
 * Takes up what an earlier process left: proposals, and contracts that nobody can call any more.
 */
function takeUp(
  context: NegotiationContext,
  evaluation: EvaluationParts,
  { proposals }: NegotiationState,
): void {
  const { methodPolicy, log } = context;
  const { contracts } = context.state;
  const onFault = faultsOf(context);
  const { record } = evaluation;
  proposals.evaluateBy({
    evaluate: (submitted) => evaluatePending(evaluation, submitted, log),
    onFault,
  });
  void endContractsWithoutMethod({ methodPolicy, contracts, record, log }).catch(onFault);
}

/** The questions of the gates about contracts, and who answers where all locks are open. */
function negotiationOf(
  context: NegotiationContext,
  prepared: LateSynthesis,
  { rate, proposeOptions }: Pick<NegotiationState, "rate"> & { proposeOptions: ProposeOptions },
): Negotiation {
  const { attempts, compiler, work } = context;
  const { rcns, synthesisEnabled } = context.config.policies;
  const { contracts: register } = context.state;
  const { record } = proposeOptions;
  const schemas = createContractSchemas();
  const accepted = (contract: Contract, call: Call, exchange: ExchangeView) =>
    recordAccepted(record, contract, { call, exchange });
  const routes = new ContractRoutes({
    ...{ register, accepted, isFloor: isProtocolPair },
    compile: (schema) => schemas.compile(schema),
  });
  const isOn = rcns.enabled && synthesisEnabled;
  if (!isOn) return { routes, route: undefined, offers: undefined };
  const route = negotiationRoute({
    ...{ prepared, register, routes, attempts, rate, work, rcns, reservation, accepted },
    needsApproval: (route, asked) => context.deployment().needsApproval(route, asked),
    anyInput: anyInput(compiler),
    onFault: faultsOf(context),
  });
  return { routes, route, offers: contractOffers(context, proposeOptions, routes) };
}

function faultsOf({ log }: NegotiationContext): (error: unknown) => void {
  return exceptStoreFaults((error) => log.warn({ error }, "a synthesis failed"));
}

function reservation(method: string, path: string): string | undefined {
  return checkReservation(method, path, FLOOR_METHODS);
}

function anyInput(compiler: SchemaCompiler) {
  const { compiled } = compiler.compile({ type: "object" }, { file: "negotiation", key: "" });
  if (compiled === undefined) throw new Error("the schema of any object does not compile");
  return compiled;
}
