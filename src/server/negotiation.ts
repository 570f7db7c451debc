/**
 * Everything about contracts that a deployment needs, put together: the gate's parts, the route that
 * negotiates, and the methods. Each deployment has its own; what it keeps outlives it.
 * AGTP-API §10
 */
import type { Attributor } from "../attribution/attributor.ts";
import type { ServerState } from "../attribution/state.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { FLOOR_METHODS } from "../catalog/catalog.ts";
import type { MethodNames } from "../catalog/path-grammar.ts";
import type { Config } from "../config/config.ts";
import type { EndpointRegistry } from "../contract/endpoint-registry.ts";
import { checkReservation } from "../contract/reserved-endpoints.ts";
import type { SchemaCompiler } from "../contract/schema.ts";
import { ContractRoutes } from "../dispatch/contract-routes.ts";
import type { NegotiationGateOptions } from "../dispatch/gates/08-negotiation.ts";
import type { MethodPolicy } from "../dispatch/method-policy.ts";
import { negotiationRoute } from "../dispatch/negotiate.ts";
import { refusalBody } from "../dispatch/refusal.ts";
import type { Route } from "../dispatch/route.ts";
import type { CallLog } from "../handlers/handler.ts";
import { compileStepTargets } from "../handlers/step-target.ts";
import { compileGrants } from "../identity/authority-scope.ts";
import { recordContractEvent } from "../methods/contract-events.ts";
import type { ContractMethodsOptions } from "../methods/contracts.ts";
import { type FloorMethod, impactOf } from "../methods/floor.ts";
import { proposalEndpoints } from "../methods/proposal-endpoints.ts";
import type { ProposalRequest } from "../methods/proposal-request.ts";
import { Proposals } from "../methods/proposals.ts";
import { PROPOSE_SCHEMA, type ProposeOptions, proposeHandler, settle } from "../methods/propose.ts";
import type { ProtocolEndpoint } from "../methods/protocol-endpoint.ts";
import { createContractSchemas } from "../synthesis/contract-schemas.ts";
import type { StepReaches } from "../synthesis/match-recipe.ts";
import { createSynthesizer } from "../synthesis/plan-synthesizer.ts";
import type { Recipe } from "../synthesis/recipe.ts";
import type { NegotiationState } from "../synthesis/state.ts";
import { canonicalPair, isProtocolPair } from "./pairs.ts";

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
  readonly attributor: Attributor;
  readonly log: Pick<CallLog, "warn">;
}

/** Negotiation, ready to be joined with the rest. */
export interface Negotiation {
  readonly proposeMethod: FloorMethod;
  readonly contractMethods: ContractMethodsOptions;
  readonly endpoints: readonly ProtocolEndpoint[];
  gate(registry: EndpointRegistry<Route>): NegotiationGateOptions;
  /** Takes up what an earlier process left; called when the deployment is served. */
  start(): void;
}

/** Joins the parts. */
export function createNegotiation(parts: NegotiationParts): Negotiation {
  const { config, recipes, operatorRoutes, methodPolicy, negotiation, log } = parts;
  const { contracts: register, attempts, negotiations, rate } = negotiation;
  const { policies, synthesis } = config;
  const onFault = (error: unknown): void => log.warn({ error }, "a synthesis failed");
  let registry: EndpointRegistry<Route> | undefined;
  const synthesizer = createSynthesizer({
    endpoints: operatorRoutes.map(({ definition }) => definition),
    recipes: [...recipes.values()],
    maxDepth: policies.maxSynthesisDepth,
    reaches: stepReaches(operatorRoutes, methodPolicy),
  });
  const schemas = createContractSchemas();
  const routes = new ContractRoutes({
    register,
    isFloor: isProtocolPair,
    compile: (schema) => schemas.compile(schema),
  });
  const evaluation: Omit<ProposeOptions, "proposals"> = {
    catalog: parts.catalog,
    names: parts.names,
    methodPolicy,
    synthesizer,
    registered: (method, path) => registry?.find(method, path)?.entry.definition,
    reservation: (method, path) => checkReservation(method, path, FLOOR_METHODS),
    synthesisEnabled: policies.synthesisEnabled,
    synthesis,
    register,
    negotiations,
  };
  const proposals = new Proposals({
    store: negotiation.store,
    evaluate: (request) => evaluate(evaluation, request),
    onFault,
  });
  return {
    proposeMethod: {
      inputSchema: PROPOSE_SCHEMA,
      handler: proposeHandler({ ...evaluation, proposals }),
    },
    contractMethods: {
      register,
      attempts,
      recipes,
      rcns: policies.rcns,
      record: recordContractEvent(parts),
    },
    endpoints: synthesis.asyncEvaluation ? proposalEndpoints(proposals) : [],
    gate(served) {
      registry = served;
      const negotiate = negotiationRoute({
        synthesizer,
        register,
        routes,
        attempts,
        rcns: policies.rcns,
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
        rate,
        negotiation: negotiate,
      };
    },
    start() {
      void proposals.resume().catch(onFault);
    },
  };
}

/** What the steps of recipes arrive at, as far as that is known before they run. */
function stepReaches(routes: readonly Route[], methodPolicy: MethodPolicy): StepReaches {
  const targetOf = compileStepTargets({
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

/** A proposal is evaluated under the authority that it was made with. */
async function evaluate(options: Omit<ProposeOptions, "proposals">, request: ProposalRequest) {
  const answer = await settle(options, request, compileGrants(request.scopes));
  if (!("kind" in answer)) return { status: answer.status ?? 200, body: answer.body };
  if (answer.status === 463) options.negotiations.reject(request.agentId, request.negotiationId);
  const carried = { ...answer.carried, negotiation_id: request.negotiationId };
  return { status: answer.status, body: refusalBody({ ...answer, carried }) };
}

function anyInput(compiler: SchemaCompiler) {
  const { compiled } = compiler.compile({ type: "object" }, { file: "negotiation", key: "" });
  if (compiled === undefined) throw new Error("the schema of any object does not compile");
  return compiled;
}
