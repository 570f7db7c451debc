/**
 * Everything about contracts that a deployment needs, put together: the gate's parts, the route that
 * negotiates, and the methods. Each deployment has its own; what it keeps outlives it.
 * AGTP-API §10
 */

import type { Config } from "../base/config.ts";
import type { Paced } from "../base/paced.ts";
import type { TaskQueue } from "../base/task-queue.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { FLOOR_METHODS } from "../catalog/catalog.ts";
import type { MethodNames } from "../catalog/path-grammar.ts";
import { recordContractEvents } from "../dispatch/contract-events.ts";
import { ContractRoutes } from "../dispatch/contract-routes.ts";
import { type FloorMethod, impactOf } from "../dispatch/floor.ts";
import type { ContractGateOptions } from "../dispatch/gates/10-contract.ts";
import type { NegotiationGateOptions } from "../dispatch/gates/12-negotiation.ts";
import type { MethodPolicy } from "../dispatch/method-policy.ts";
import type { ProtocolEndpoint } from "../dispatch/protocol-endpoint.ts";
import type { ExchangeView, Route } from "../dispatch/route.ts";
import type { Contract } from "../endpoint/contract.ts";
import type { EndpointRegistry } from "../endpoint/endpoint-registry.ts";
import type { Synthesizer } from "../endpoint/plan.ts";
import type { Recipe } from "../endpoint/recipe.ts";
import { checkReservation } from "../endpoint/reserved-endpoints.ts";
import type { Call, CallLog } from "../handlers/handler.ts";
import { compilingStepTargets } from "../handlers/step-target.ts";
import type { ContractMethodsOptions } from "../modules/floor/contracts.ts";
import { createContractSchemas } from "../modules/negotiation/contract-schemas.ts";
import { answerLater } from "../modules/negotiation/later-answer.ts";
import type { StepReaches } from "../modules/negotiation/match-recipe.ts";
import { negotiationRoute } from "../modules/negotiation/negotiate.ts";
import { creatingSynthesizer } from "../modules/negotiation/plan-synthesizer.ts";
import { proposalEndpoints } from "../modules/negotiation/proposal-endpoints.ts";
import {
  PROPOSE_SCHEMA,
  PROPOSED_SCHEMAS,
  type ProposeOptions,
  proposeHandler,
} from "../modules/negotiation/propose.ts";
import type { NegotiationState } from "../modules/negotiation/state.ts";
import type { SchemaCompiler } from "../schema/schema.ts";
import { canonicalPair, isProtocolPair } from "../server/pairs.ts";
import type { Attributor } from "../state/attributor.ts";
import type { ServerState } from "../state/state.ts";
import { exceptStoreFaults } from "../state/store-fault.ts";
import { endContractsWithoutMethod } from "./removed-methods.ts";

/** What negotiation is built from. */
export interface NegotiationParts {
  readonly config: Config;
  readonly catalog: Catalog;
  readonly names: MethodNames;
  readonly methodPolicy: MethodPolicy;
  readonly recipes: ReadonlyMap<string, Recipe>;
  readonly operatorRoutes: readonly Route[];
  readonly compiler: SchemaCompiler;
  readonly state: ServerState;
  readonly negotiation: NegotiationState;
  /** Where plans wait their turn. */
  readonly work: TaskQueue;
  readonly attributor: Attributor;
  readonly log: Pick<CallLog, "warn">;
}

/** Negotiation, ready to be joined with the rest. */
export interface Negotiation {
  readonly proposeMethod: FloorMethod;
  /** Plans, whoever wants one. */
  readonly synthesizer: Synthesizer;
  readonly reaches: StepReaches;
  readonly contractMethods: ContractMethodsOptions;
  readonly endpoints: readonly ProtocolEndpoint[];
  gate(registry: EndpointRegistry<Route>): NegotiationGateOptions & ContractGateOptions;
  /** Takes up what an earlier process left; called when the deployment is served. */
  start(): void;
}

/** Joins the parts. */
export function* creatingNegotiation(parts: NegotiationParts): Paced<Negotiation> {
  const { config, recipes, operatorRoutes, methodPolicy, negotiation, work, log } = parts;
  const { contracts: register, attempts, negotiations, proposals, rate } = negotiation;
  const { policies, synthesis } = config;
  const onFault = exceptStoreFaults((error) => log.warn({ error }, "a synthesis failed"));
  let registry: EndpointRegistry<Route> | undefined;
  const reaches = yield* stepReaches(operatorRoutes, methodPolicy);
  const synthesizer = yield* creatingSynthesizer({
    endpoints: operatorRoutes
      .map(({ definition }) => definition)
      .filter((definition) => isReachable(methodPolicy, definition)),
    recipes: [...recipes.values()],
    maxDepth: policies.maxSynthesisDepth,
    reaches,
  });
  const schemas = createContractSchemas();
  const record = recordContractEvents(parts);
  const reservation = (method: string, path: string): string | undefined =>
    checkReservation(method, path, FLOOR_METHODS);
  const accepted = (contract: Contract, call: Call, exchange: ExchangeView) => {
    const actorAgentId = contract.agentId;
    return record([{ type: "rcns_propose_accepted", contract, actorAgentId }], { call, exchange });
  };
  const routes = new ContractRoutes({
    register,
    accepted,
    isFloor: isProtocolPair,
    compile: (schema) => schemas.compile(schema),
  });
  const evaluation: Omit<ProposeOptions, "proposals"> = {
    catalog: parts.catalog,
    names: parts.names,
    methodPolicy,
    synthesizer,
    registered: (method, path) => registry?.find(method, path)?.entry.definition,
    reservation,
    canonical: (pair) => canonicalPair(methodPolicy, pair),
    synthesisEnabled: policies.synthesisEnabled,
    synthesis,
    register,
    negotiations,
    record,
    work,
  };
  return {
    synthesizer,
    reaches,
    proposeMethod: {
      inputSchema: PROPOSE_SCHEMA,
      deepMembers: PROPOSED_SCHEMAS,
      handler: proposeHandler({ ...evaluation, proposals }),
    },
    contractMethods: {
      register,
      attempts,
      recipes,
      rcns: policies.rcns,
      record,
    },
    // What was taken on can be asked for, even where nothing more is.
    endpoints: synthesis.asyncEvaluation || proposals.size > 0 ? proposalEndpoints(proposals) : [],
    gate(served) {
      registry = served;
      const negotiate = negotiationRoute({
        synthesizer,
        register,
        routes,
        attempts,
        rate,
        work,
        rcns: policies.rcns,
        reservation,
        accepted,
        anyInput: anyInput(parts.compiler),
        onFault,
      });
      return {
        policy: methodPolicy,
        registry: served,
        register,
        routes,
        attempts,
        rcns: policies.rcns,
        synthesisEnabled: policies.synthesisEnabled,
        negotiation: negotiate,
      };
    },
    start() {
      proposals.evaluateBy({
        evaluate: (request) => answerLater(evaluation, request, log),
        onFault,
      });
      void endContractsWithoutMethod({ methodPolicy, contracts: register, record, log }).catch(
        onFault,
      );
    },
  };
}

/** Whether a step that names an endpoint's pair arrives at it: policy may refuse or redirect it. */
function isReachable(
  methodPolicy: MethodPolicy,
  { method, path }: Pick<Route, "method" | "path">,
): boolean {
  const canonical = canonicalPair(methodPolicy, { method, path });
  const isItself = canonical.method === method && canonical.path === path;
  return isItself && methodPolicy.isAllowed(method);
}

/** What the steps of recipes arrive at, as far as that is known before they run. */
function* stepReaches(routes: readonly Route[], methodPolicy: MethodPolicy): Paced<StepReaches> {
  const targetOf = yield* compilingStepTargets({
    endpoints: routes.map(({ definition }) => definition),
    isFloor: isProtocolPair,
    canonical: (pair) => canonicalPair(methodPolicy, pair),
  });
  return (step) => {
    const target = targetOf(step);
    switch (target.kind) {
      case "none":
        return [];
      case "server":
        return [{ kind: "server", impact: impactOf(step.method) }];
      case "endpoint":
        return [target];
      case "any-of":
        return target.endpoints.map((endpoint) => ({ kind: "endpoint", endpoint }));
    }
  };
}

function anyInput(compiler: SchemaCompiler) {
  const { compiled } = compiler.compile({ type: "object" }, { file: "negotiation", key: "" });
  if (compiled === undefined) throw new Error("the schema of any object does not compile");
  return compiled;
}
