/**
 * Builds the pipeline from the contributions of the operator and the modules, and the view of the
 * whole that modules get.
 */

import { type Drive, filterPaced, type Paced } from "../base/paced.ts";
import type { ApprovalPolicy } from "../dispatch/approvals/approval-policy.ts";
import { Approvals } from "../dispatch/approvals/approvals.ts";
import { StepsAhead } from "../dispatch/approvals/steps-ahead.ts";
import {
  type ActEntrance,
  creatingDispatcher,
  type Dispatcher,
  type DispatcherParts,
} from "../dispatch/dispatcher.ts";
import { createActAs } from "../dispatch/handling/acting.ts";
import type { AssembledDeployment, Contribution, Negotiation } from "../dispatch/module/module.ts";
import type { Observer } from "../dispatch/observer.ts";
import type { ProcessState } from "../dispatch/process-state.ts";
import { observeRecorded } from "../dispatch/recorded.ts";
import type { RegisteredRoute, Route } from "../dispatch/routes/route.ts";
import type { EndpointRegistry } from "../endpoint/endpoint-registry.ts";
import type { ModuleEnds } from "../handlers/module-ends.ts";
import { defaultAgent, type Foundation } from "./foundation.ts";
import type { Provisioned } from "./provision.ts";

interface AssemblyOptions {
  readonly kept: ProcessState;
  readonly drive: Drive;
  readonly observer: Observer;
  readonly approvalPolicy: ApprovalPolicy;
}

/** Assembles a deployment from its contributions. */
export async function assemble(
  foundation: Foundation,
  provisioned: Provisioned,
  options: AssemblyOptions,
): Promise<AssembledDeployment> {
  const { kept, drive } = options;
  const { contributions, registry, directory, features, http } = provisioned;
  const all = <T>(of: (one: Contribution) => readonly T[] | undefined): readonly T[] =>
    contributions.flatMap((one) => of(one) ?? []);
  const first = <T>(of: (one: Contribution) => T | undefined): T | undefined =>
    contributions.map(of).find((part) => part !== undefined);
  const negotiation = first((one) => one.negotiation) ?? NO_NEGOTIATION;
  const contracts = negotiation === NO_NEGOTIATION ? NO_CONTRACTS : kept.state.contracts;
  const approvals = await drive(creatingApprovals(foundation, registry, options));
  const pipeline = creatingPipeline(foundation, provisioned, {
    ...{ ...options, registry, contracts, negotiation, approvals },
    delegations: first((one) => one.delegations),
  });
  const dispatcher = countingFor(foundation.ends, await drive(pipeline));
  const registered = await drive(
    filterPaced(registry.entries, (route: Route): route is RegisteredRoute => route.tier !== "C"),
  );
  const others = await drive(filterPaced(registered, ({ isListed }) => !isListed));
  return {
    ...{ dispatcher, registry, contracts, negotiation, directory, features },
    actAs: createActAs(dispatcher, kept.state.ledger),
    listed: await drive(filterPaced(registered, ({ isListed }) => isListed)),
    unlisted: others.filter(({ isFindable }) => isFindable),
    sources: all((one) => one.sources),
    confirmables: all((one) => one.confirmables),
    httpRoutes: all((one) => one.httpRoutes),
    hostedProtocols: all((one) => one.hostedProtocols),
    webhooks: first((one) => one.webhooks),
    needsApproval: (route, asked) => approvals.isNeeded(route, asked),
    documentVersion: async () => await first((one) => one.documentVersion)?.(),
    upstreamAgents: () => all((one) => one.upstreamAgents?.()),
    apis: () => http?.apis() ?? foundation.config.apis,
  };
}

/** Wraps the dispatcher so that modules with an end stay open until each running request is answered. */
function countingFor(
  ends: ModuleEnds,
  dispatcher: Dispatcher & ActEntrance,
): Dispatcher & ActEntrance {
  if (ends.isEmpty) return dispatcher;
  return {
    answer: (exchange) => ends.during(() => dispatcher.answer(exchange)),
    act: (exchange) => ends.during(() => dispatcher.act(exchange)),
    answerFault: (fault, peer) => dispatcher.answerFault(fault, peer),
  };
}

/** No contracts, for a deployment without negotiation. */
const NO_CONTRACTS: AssembledDeployment["contracts"] = {
  present: () => ({ kind: "unknown" }),
  active: () => [],
  activeFor: () => undefined,
  *eachOpen() {},
  openOf: () => [],
  ofAgent: () => [],
  revisionOf: () => 0,
};

const NO_NEGOTIATION: Negotiation = {
  ...{ route: undefined, offers: undefined },
  routes: { bind: noContract, routeOf: noContract },
};

function noContract(): never {
  throw new Error("no contract can be called");
}

function* creatingApprovals(
  { methodPolicy }: Foundation,
  registry: EndpointRegistry<Route>,
  { kept: { state }, approvalPolicy: policy }: AssemblyOptions,
): Paced<Approvals> {
  const { escalations, ledger, holders } = state;
  const ahead = yield* StepsAhead.creating({ policy, registry, methodPolicy });
  return new Approvals({ policy, escalations, ledger, ahead, holders });
}

function creatingPipeline(
  { config, catalog, names, methodPolicy, attributor, tokens }: Foundation,
  { directory }: Provisioned,
  parts: AssemblyOptions &
    Pick<DispatcherParts, "delegations" | "approvals"> & {
      readonly registry: EndpointRegistry<Route>;
      readonly contracts: AssembledDeployment["contracts"];
      readonly negotiation: Negotiation;
    },
): Paced<Dispatcher & ActEntrance> {
  const { kept, registry, observer, contracts, delegations, approvals } = parts;
  const { policies, limits, attribution, server } = config;
  const { state, attempts, rates, time } = kept;
  const { routes, route } = parts.negotiation;
  return creatingDispatcher({
    ...{ catalog, names, methodPolicy, policies, registry, directory, delegations, approvals },
    observer: observeRecorded(observer, state.ledger),
    view: state.view,
    serverId: server.serverId,
    defaultAgent: defaultAgent(config, directory),
    callerState: state,
    attributor: attribution.enabled ? attributor : undefined,
    tokens: tokens?.verifier,
    negotiation: {
      ...{ register: contracts, routes, attempts, registry, negotiation: route },
      ...{ policy: methodPolicy, rcns: policies.rcns },
    },
    deadlines: kept.calls.within(limits.handlerTimeoutMs),
    ...{ rates, time, idempotency: state.idempotency },
  });
}
