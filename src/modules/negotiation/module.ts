/**
 * Everything about contracts that a deployment needs, put together: what the gates ask, the route that
 * negotiates, PROPOSE, and PLAN. Each deployment has its own; what it keeps outlives it.
 * AGTP-API §10
 */

import { THE_SERVER } from "../../base/task-queue.ts";
import { FLOOR_METHODS } from "../../catalog/catalog.ts";
import { recordContractEvents } from "../../dispatch/contracts/contract-events.ts";
import { ContractRoutes } from "../../dispatch/contracts/contract-routes.ts";
import type { Module, Negotiation } from "../../dispatch/module/module.ts";
import { describeBy, type FloorMethod, floorEndpoints } from "../../dispatch/routes/floor.ts";
import { canonicalPair, isProtocolPair } from "../../dispatch/routes/pairs.ts";
import { protocolRoutes } from "../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { Contract } from "../../endpoint/contract.ts";
import { checkReservation } from "../../endpoint/reserved-endpoints.ts";
import type { Call } from "../../handlers/handler.ts";
import type { SchemaCompiler } from "../../schema/schema.ts";
import { exceptStoreFaults } from "../../state/store-fault.ts";
import type { NegotiationContext, NegotiationSections } from "./config.ts";
import { createContractSchemas } from "./contract-schemas.ts";
import { contractSource } from "./contracts/contract-source.ts";
import { endContractsWithoutMethod } from "./contracts/removed-methods.ts";
import { createLatePlanning, creatingPlanPlaces, type LatePlanning } from "./late-synthesis.ts";
import type { PlanPlaces } from "./plan-method/find-plan.ts";
import { planMethod } from "./plan-method/plan-method.ts";
import { contractOffers } from "./propose/contract-offers.ts";
import {
  PROPOSE_SCHEMA,
  PROPOSED_SCHEMAS,
  type ProposeOptions,
  proposeHandler,
} from "./propose/propose.ts";
import { answerLater, proposalEndpoints } from "./propose/query-proposal.ts";
import { negotiationRoute } from "./rcns/negotiation-route.ts";
import { type NegotiationState, openNegotiation } from "./state.ts";

export const negotiationModule: Module<NegotiationSections> = {
  name: "negotiation",
  takes: { policies: true, synthesis: true },
  async provision(context) {
    const { policies, synthesis } = context.config;
    const kept = await context.once(openNegotiation);
    const { proposals } = kept;
    const planning = createLatePlanning(context);
    const places = preparedPlaces(context, planning);
    const evaluation = proposing(context, planning, kept);
    const proposeOptions = { ...evaluation, proposals };
    const methods = new Map<string, FloorMethod>([
      ["PLAN", planMethod({ places, work: context.work })],
      [
        "PROPOSE",
        {
          inputSchema: PROPOSE_SCHEMA,
          deepMembers: PROPOSED_SCHEMAS,
          handler: proposeHandler(proposeOptions),
        },
      ],
    ]);
    const isNegotiating = policies.synthesisEnabled && policies.rcns.enabled;
    // A proposal that was taken on can be asked for, even where nothing more is.
    const isAsked = synthesis.asyncEvaluation || proposals.size > 0;
    const endpoints = [
      ...floorEndpoints(methods, describeBy(context.catalog)),
      ...(isAsked ? proposalEndpoints(proposals) : []),
    ];
    return {
      routes: protocolRoutes(endpoints, context),
      sources: [contractSource(context.state.contracts)],
      negotiation: negotiating(context, planning, { ...kept, proposeOptions }),
      features: [
        ...(policies.synthesisEnabled ? ["synthesis"] : []),
        ...(isNegotiating ? ["rcns"] : []),
      ],
      prepare: async () => {
        await places();
      },
      start: () => evaluateLater(context, evaluation, kept),
    };
  },
};

/** The places of PLAN, made when they are first asked for. */
function preparedPlaces(
  context: NegotiationContext,
  planning: LatePlanning,
): () => Promise<PlanPlaces> {
  const { work, stopping } = context;
  let places: Promise<PlanPlaces> | undefined;
  return () => {
    places ??= planning().then((made) =>
      work.pace(creatingPlanPlaces(context, made), THE_SERVER, stopping.signal),
    );
    return places;
  };
}

/** Builds the judging of proposals, at once or later. */
function proposing(
  context: NegotiationContext,
  planning: LatePlanning,
  { negotiations }: NegotiationState,
): Omit<ProposeOptions, "proposals"> {
  const { catalog, names, methodPolicy, config, work } = context;
  return {
    ...{ catalog, names, methodPolicy, planning, reservation, negotiations, work },
    registered: (method, path) => {
      return context.dispatch().registry.find(method, path)?.entry.definition;
    },
    canonical: (pair) => canonicalPair(methodPolicy, pair),
    synthesisEnabled: config.policies.synthesisEnabled,
    synthesis: config.synthesis,
    register: context.state.contracts,
    record: recordContractEvents(context),
  };
}

/** Takes up what an earlier process left: proposals, and contracts that nobody can call any more. */
function evaluateLater(
  context: NegotiationContext,
  evaluation: Omit<ProposeOptions, "proposals">,
  { proposals }: NegotiationState,
): void {
  const { methodPolicy, log } = context;
  const { contracts } = context.state;
  const onFault = faultsOf(context);
  const record = recordContractEvents(context);
  proposals.evaluateBy({
    evaluate: (request) => answerLater(evaluation, request, log),
    onFault,
  });
  void endContractsWithoutMethod({ methodPolicy, contracts, record, log }).catch(onFault);
}

/** The questions of the gates about contracts, and who answers where all locks are open. */
function negotiating(
  context: NegotiationContext,
  planning: LatePlanning,
  { rate, proposeOptions }: Pick<NegotiationState, "rate"> & { proposeOptions: ProposeOptions },
): Negotiation {
  const { attempts, compiler, work } = context;
  const { rcns, synthesisEnabled } = context.config.policies;
  const { contracts: register } = context.state;
  const record = recordContractEvents(context);
  const schemas = createContractSchemas();
  const accepted = (contract: Contract, call: Call, exchange: ExchangeView) => {
    const actorAgentId = contract.agentId;
    return record([{ type: "rcns_propose_accepted", contract, actorAgentId }], { call, exchange });
  };
  const routes = new ContractRoutes({
    ...{ register, accepted, isFloor: isProtocolPair },
    compile: (schema) => schemas.compile(schema),
  });
  const isOn = rcns.enabled && synthesisEnabled;
  if (!isOn) return { routes, route: undefined, offers: undefined };
  const route = negotiationRoute({
    ...{ planning, register, routes, attempts, rate, work, rcns, reservation, accepted },
    needsApproval: (route, asked) => context.dispatch().needsApproval(route, asked),
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
