/**
 * The pipeline, readable as a list. Each gate stands here in order with the statuses that it
 * refuses with, and its dependencies are visible only here. Between gates 17 and 18, a reused
 * Idempotency-Key is refused with 409; handlers have refusals of their own.   AGTP-API Appendix A.2
 */

import type { Paced } from "../base/paced.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { MethodNames } from "../catalog/path-grammar.ts";
import type { EndpointRegistry } from "../endpoint/endpoint-registry.ts";
import type { ViewLease } from "../state/state.ts";
import type { Response, WireFault } from "../wire/message.ts";
import type { Approvals } from "./approvals/approvals.ts";
import type { CallerState } from "./caller/caller-state.ts";
import type { Peer } from "./caller/peer.ts";
import type { Exchange } from "./exchange.ts";
import { callerGate, revocationGate } from "./gates/00-caller.ts";
import { sessionEntry, sessionGate } from "./gates/01-session.ts";
import { authorityGate } from "./gates/02-authority.ts";
import { lifecycleGate, refuseInactiveCaller } from "./gates/03-lifecycle.ts";
import { ratesGate } from "./gates/04-rates.ts";
import { ledgerGate } from "./gates/05-ledger.ts";
import { aliasGate } from "./gates/06-alias.ts";
import { methodGate } from "./gates/07-method.ts";
import { compilingPathCheck, type PathCheck, pathGate } from "./gates/08-path.ts";
import { policyGate } from "./gates/09-policy.ts";
import { type ContractGateOptions, contractGate } from "./gates/10-contract.ts";
import { endpointGate } from "./gates/11-endpoint.ts";
import { type NegotiationGateOptions, negotiationGate } from "./gates/12-negotiation.ts";
import { bodyGate } from "./gates/13-body.ts";
import { bodySessionGate } from "./gates/14-body-session.ts";
import { taskGate } from "./gates/15-task.ts";
import { inputGate } from "./gates/16-input.ts";
import { scopeGate } from "./gates/17-scope.ts";
import { approvalGate } from "./gates/18-approval.ts";
import { type Gates, rowOf } from "./gates/gate.ts";
import { Pipeline, type PipelineParts } from "./pipeline.ts";
import type { MethodPolicy } from "./policy/method-policy.ts";
import type { PoliciesConfig } from "./policy/policies-section.ts";
import type { Rates } from "./rates/rates.ts";
import { createEndpointLookup } from "./routes/endpoint-lookup.ts";
import { listingMethods } from "./routes/floor.ts";
import type { Route } from "./routes/route.ts";

export interface DispatcherParts extends PipelineParts {
  readonly catalog: Catalog;
  readonly names: MethodNames;
  readonly policies: PoliciesConfig;
  readonly methodPolicy: MethodPolicy;
  readonly registry: EndpointRegistry<Route>;
  readonly callerState: CallerState;
  readonly negotiation: NegotiationGateOptions & ContractGateOptions;
  /** The rates of all payers. */
  readonly rates: Rates;
  readonly approvals: Approvals;
  readonly view: ViewLease;
}

/** The pipeline, for its users. */
export interface Dispatcher {
  /** Answers one request, synchronously if no step is asynchronous. */
  answer(exchange: Exchange): Response | Promise<Response>;
  /** Builds the response to bytes that are no request; the connection closes after it. */
  answerFault(fault: WireFault, peer?: Peer): Response;
}

/** The entrance for requests that the server makes in an agent's name. */
export interface ActEntrance {
  /** Answers a request whose caller is already known. */
  act(exchange: Exchange): Response | Promise<Response>;
}

/** Builds the pipeline, one endpoint a step. */
export function* creatingDispatcher(parts: DispatcherParts): Paced<Dispatcher & ActEntrance> {
  const { names, registry, methodPolicy } = parts;
  const pathCheck = yield* compilingPathCheck(names, registry);
  const methods = yield* listingMethods(registry.entries, methodPolicy);
  const gates = {
    identity: rowOf(identityGates(parts)),
    toll: rowOf(tollGates(parts)),
    entry: rowOf(entryGates(parts)),
    acting: rowOf(actingGates(parts)),
    inner: rowOf(innerGates(parts)),
    request: rowOf(requestGates(parts, pathCheck)),
    handler: rowOf(handlerGates(parts)),
  };
  const lookUp = createEndpointLookup({ ...parts, pathCheck });
  return new Pipeline(parts, { gates, lookUp, supportedMethods: methods.join(", ") });
}

/** Gates that identify the caller; their refusal is answered only after the toll gates. */
function identityGates({ directory, policies, methodPolicy, callerState }: DispatcherParts): Gates {
  const { certificates, lifecycle } = callerState;
  const policy = policies.identity;
  return {
    caller: callerGate({ directory, policy, certificates }), //               00  400 401 501 551
    session: sessionGate(callerState, methodPolicy), //                       01  401 408 409
    authority: authorityGate, //                                              02  400 262 455 457
    lifecycle: lifecycleGate({ directory, methodPolicy, lifecycle }), //      03  410 503
  };
}

/** Gates for every request from outside, even a refused one: their refusals take precedence. */
function tollGates({ rates, attributor, view }: DispatcherParts): Gates {
  return {
    rates: ratesGate(rates), //                                               04  429
    ledger: ledgerGate(attributor, view), //                                  05  503
  };
}

/** Enters the session of a request from outside that no earlier gate refused. */
function entryGates({ callerState, methodPolicy }: DispatcherParts): Gates {
  return { session: sessionEntry(callerState, methodPolicy) };
}

/** Gates for requests in an agent's name: the caller is known, and another account pays. */
function actingGates({ attributor, callerState, directory, view }: DispatcherParts): Gates {
  const { certificates, lifecycle } = callerState;
  return {
    ledger: ledgerGate(attributor, view),
    caller: revocationGate(certificates),
    lifecycle: ({ caller }) => refuseInactiveCaller(caller, { directory, lifecycle }),
  };
}

/** Gates for inner dispatches, whose caller may have been suspended or revoked since it was admitted. */
function innerGates(parts: DispatcherParts): Gates {
  const { attributor, callerState, directory, methodPolicy, view } = parts;
  const { certificates, lifecycle } = callerState;
  return {
    ledger: ledgerGate(attributor, view),
    caller: revocationGate(certificates),
    lifecycle: lifecycleGate({ directory, methodPolicy, lifecycle }),
  };
}

/** Gates that resolve and check the request itself; inner dispatches start here. */
function requestGates(parts: DispatcherParts, pathCheck: PathCheck): Gates {
  const { catalog, methodPolicy, registry, policies, negotiation, callerState } = parts;
  const { anonymousDiscovery, oauth, scopeRequiredForInvocation } = policies;
  const tokenMethods = new Set(oauth?.requiredOnMethods);
  return {
    alias: aliasGate(methodPolicy), //                                        06
    method: methodGate(catalog, methodPolicy), //                             07  459
    path: pathGate(pathCheck), //                                             08  460
    policy: policyGate(methodPolicy, registry), //                            09  405
    contract: contractGate(negotiation), //                                   10  400 404 464
    endpoint: endpointGate({ registry, anonymousDiscovery, tokenMethods }), //  11  262 401 410 503
    negotiation: negotiationGate(negotiation), //                             12  262 404 405 464
    body: bodyGate, //                                                        13  400 460
    "body-session": bodySessionGate(callerState), //                          14  401 408 409
    task: taskGate(callerState), //                                           15  409
    input: inputGate, //                                                      16  422
    scope: scopeGate(scopeRequiredForInvocation), //                          17  262 403 455
  };
}

/** Gates directly before the handler and behind the Idempotency-Key, so that a replay skips them. */
function handlerGates({ approvals }: DispatcherParts): Gates {
  return {
    approval: approvalGate(approvals), //                                     18  262 403 409 422
  };
}
