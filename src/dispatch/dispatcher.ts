/**
 * The pipeline, readable as a list. Every reason a request can be refused stands here in order, and
 * each gate's dependencies are visible here and nowhere else. No socket: a request goes in, a
 * response comes out.   AGTP-API Appendix A.2
 */

import type { PoliciesConfig } from "../base/config.ts";
import type { Paced } from "../base/paced.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { MethodNames } from "../catalog/path-grammar.ts";
import type { EndpointRegistry } from "../endpoint/endpoint-registry.ts";
import type { CallLog, DispatchResult } from "../handlers/handler.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import type { TokenVerifier } from "../identity/bearer-tokens.ts";
import type { Attributor } from "../state/attributor.ts";
import type { IdempotencyRegister } from "../state/idempotency-register.ts";
import type { Response, WireFault } from "../wire/message.ts";
import { createStandingFields } from "./addressed-agent.ts";
import type { Approvals } from "./approvals.ts";
import { type CallHandler, createCallHandler } from "./call-handler.ts";
import type { CallerState } from "./caller-state.ts";
import { concealRefusal } from "./concealment.ts";
import { readCredentials } from "./credentials.ts";
import type { Deadlines } from "./deadlines.ts";
import type { DelegationReader } from "./delegation.ts";
import { compilingPathCheck, createEndpointLookup, type PathCheck } from "./endpoint-lookup.ts";
import { Exchange } from "./exchange.ts";
import { callerGate } from "./gates/00-caller.ts";
import { sessionGate } from "./gates/01-session.ts";
import { authorityGate } from "./gates/02-authority.ts";
import { lifecycleGate } from "./gates/03-lifecycle.ts";
import { ratesGate } from "./gates/04-rates.ts";
import { ledgerGate } from "./gates/05-ledger.ts";
import { aliasGate } from "./gates/06-alias.ts";
import { methodGate } from "./gates/07-method.ts";
import { pathGate } from "./gates/08-path.ts";
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
import type { Gate } from "./gates/gate.ts";
import { type AnswerOnce, createAnswerOnce } from "./idempotency.ts";
import { readIdempotencyKey } from "./idempotency-key.ts";
import { isLasting } from "./idempotent-reply.ts";
import { refuseInactive } from "./inactive-agent.ts";
import { innerRequest, resultOf } from "./inner.ts";
import { type Fault, faultReply, type InvokeServices } from "./invoke.ts";
import type { LoopTime } from "./loop-time.ts";
import type { MethodPolicy } from "./method-policy.ts";
import { payerOf } from "./payer.ts";
import type { Peer } from "./peer.ts";
import type { Rates } from "./rates.ts";
import { badRequest, type Refusal } from "./refusal.ts";
import { type Reply, replyToRefusal } from "./reply.ts";
import type { Route } from "./route.ts";
import { createStamp, type Stamp } from "./stamp.ts";
import { listingMethods } from "./supported-methods.ts";

/** How deep handlers may dispatch into one another. */
const MAX_DISPATCH_DEPTH = 16;
const UNJUDGED = "a token could not be judged";

export interface DispatcherParts {
  readonly serverId: string;
  readonly catalog: Catalog;
  readonly names: MethodNames;
  readonly policies: PoliciesConfig;
  readonly methodPolicy: MethodPolicy;
  readonly registry: EndpointRegistry<Route>;
  readonly directory: AgentDirectory;
  readonly defaultAgent: AgentDocument | undefined;
  readonly standing: CallerState;
  /** Undefined: responses carry no record. */
  readonly attributor: Attributor | undefined;
  /** Undefined: bearer tokens are not looked at. */
  readonly tokens: TokenVerifier | undefined;
  /** Undefined: no peer vouches for anybody. */
  readonly delegations: DelegationReader | undefined;
  readonly negotiation: NegotiationGateOptions & ContractGateOptions;
  readonly deadlines: Deadlines;
  /** What everybody has taken, and who pays for what is taken here. */
  readonly rates: Rates;
  readonly time: LoopTime;
  readonly idempotency: IdempotencyRegister;
  readonly approvals: Approvals;
  readonly observer: Observer;
}

/** Where the pipeline reports what happened; logging, metrics and tracing stay outside. */
export interface Observer {
  start(exchange: Exchange): void;
  end(exchange: Exchange, response: Response, reply: Reply): void;
  wireFault(fault: WireFault, response: Response, peer?: Peer): void;
  fault(fault: Fault): void;
  logFor(exchange: Exchange): CallLog;
}

export interface Dispatcher {
  /** Answers one request; synchronously when nothing in its way is asynchronous. */
  answer(exchange: Exchange): Response | Promise<Response>;
  /** The response to bytes that are no request; the connection closes after it. */
  answerFault(fault: WireFault, peer?: Peer): Response;
}

/** The way in for what the server itself asks for in an agent's name. */
export interface InnerEntrance {
  /** Answers a request whose caller is given. */
  act(exchange: Exchange): Response | Promise<Response>;
}

/** Builds the pipeline, an endpoint a step. */
export function* creatingDispatcher(parts: DispatcherParts): Paced<Dispatcher & InnerEntrance> {
  const { names, registry, methodPolicy } = parts;
  const pathCheck = yield* compilingPathCheck(names, registry);
  const methods = yield* listingMethods(registry.entries, methodPolicy);
  return new Pipeline({ ...parts, pathCheck, supportedMethods: methods.join(", ") });
}

/** What is known of all endpoints together. */
interface PipelineParts extends DispatcherParts {
  readonly pathCheck: PathCheck;
  readonly supportedMethods: string;
}

/** Who is asking; what they refuse is said after the gates that everybody has to pass. */
function identityGates({ directory, policies, methodPolicy, standing }: DispatcherParts): Gates {
  return [
    callerGate({ directory, policy: policies.identity, standing }), //  00  400 401 501 551
    sessionGate(standing, methodPolicy), //                             01  401 408 409
    authorityGate, //                                                   02  400 262 455 457
    lifecycleGate({ directory, methodPolicy, standing }), //            03  410 503
  ];
}

/** Asked of every request from outside, also of one that is refused already: their word comes first. */
function toll({ rates, attributor }: DispatcherParts): Gates {
  return [
    ratesGate(rates), //                                                04  429
    ledgerGate(attributor), //                                          05  503
  ];
}

/** What is asked for, and whether it may be had; a request that a handler dispatches begins here. */
function admissionGates(parts: DispatcherParts, pathCheck: PathCheck): Gates {
  const { catalog, methodPolicy, registry, policies, negotiation, standing } = parts;
  const { anonymousDiscovery, oauth, scopeRequiredForInvocation } = policies;
  const tokenMethods = new Set(oauth?.requiredOnMethods);
  return [
    aliasGate(methodPolicy), //                                         06
    methodGate(catalog, methodPolicy), //                               07  459
    pathGate(pathCheck), //                                             08  460
    policyGate(methodPolicy, registry, catalog), //                     09  405
    contractGate(negotiation), //                                       10  400 404 464
    endpointGate({ registry, anonymousDiscovery, tokenMethods }), //    11  262 401 410 503
    negotiationGate(negotiation), //                                    12  262 404 405 464
    bodyGate, //                                                        13  400 460
    bodySessionGate(standing), //                                       14  401 408 409
    taskGate(standing), //                                              15  409
    inputGate, //                                                       16  422
    scopeGate(scopeRequiredForInvocation), //                           17  262 403 455
  ];
}

/** Asked directly before the handler, behind an Idempotency-Key: an answer that is kept needs nothing. */
function handlerGates({ approvals }: DispatcherParts): Gates {
  return [
    approvalGate(approvals), //                                         18  262 403 409 422
  ];
}

type Gates = readonly Gate[];

/** The first refusal; no gate behind it is asked. */
function firstRefusal(gates: Gates, exchange: Exchange): Refusal | undefined {
  for (const gate of gates) {
    const refusal = gate(exchange);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

class Pipeline implements Dispatcher, InnerEntrance {
  readonly #parts: DispatcherParts;
  readonly #time: LoopTime;
  readonly #identity: Gates;
  readonly #toll: Gates;
  readonly #admission: Gates;
  readonly #lookUp: (exchange: Exchange) => void;
  readonly #stamp: Stamp;
  readonly #services: InvokeServices;
  readonly #callHandler: CallHandler;
  readonly #answerOnce: AnswerOnce;

  constructor(parts: PipelineParts) {
    const { directory, observer, pathCheck, supportedMethods } = parts;
    const { attributor, idempotency, deadlines, serverId } = parts;
    this.#parts = parts;
    this.#time = parts.time;
    this.#identity = identityGates(parts);
    this.#toll = toll(parts);
    this.#admission = admissionGates(parts, pathCheck);
    const atHandler = handlerGates(parts);
    this.#lookUp = createEndpointLookup(parts);
    this.#stamp = createStamp({
      ...{ serverId, attributor },
      standingFields: createStandingFields(directory, parts.defaultAgent),
      supportedMethods,
    });
    this.#services = {
      deadlines,
      logFor: (exchange) => observer.logFor(exchange),
      reportFault: (fault) => observer.fault(fault),
      dispatch: (parent, method, path, input) => this.#dispatch(parent, method, path, input),
    };
    this.#callHandler = createCallHandler(
      (exchange) => firstRefusal(atHandler, exchange),
      this.#services,
    );
    this.#answerOnce = createAnswerOnce({
      ...{ register: idempotency, directory, services: this.#services },
      callHandler: this.#callHandler,
    });
  }

  answer(exchange: Exchange): Response | Promise<Response> {
    const { observer, tokens, delegations } = this.#parts;
    observer.start(exchange);
    const reading = readCredentials(exchange, tokens, delegations);
    if (reading === undefined) return this.#ask(exchange, exchange.startedAt, this.#arrive);
    return reading.then(
      () => this.#ask(exchange, performance.now(), this.#arrive),
      (cause: unknown) => this.#finish(exchange, this.#fault(exchange, UNJUDGED, cause)),
    );
  }

  act(exchange: Exchange): Response | Promise<Response> {
    this.#parts.observer.start(exchange);
    return this.#ask(exchange, exchange.startedAt, this.#arriveFromInside);
  }

  answerFault(fault: WireFault, peer?: Peer): Response {
    const response = this.#stamp(replyToRefusal(badRequest(fault.code, fault.message)));
    this.#parts.observer.wireFault(fault, response, peer);
    return response;
  }

  /** What is done at once is one slice of the loop. */
  #ask(exchange: Exchange, startedAt: number, arrive: Gate): Response | Promise<Response> {
    this.#time.begin(startedAt);
    try {
      return this.#pass(exchange, arrive);
    } finally {
      this.#settle(exchange, startedAt);
    }
  }

  #settle(exchange: Exchange, startedAt: number): void {
    const spent = this.#time.end(startedAt);
    if (spent > 0) this.#time.charge(payerOf(exchange), spent);
  }

  /** The gates of a request from outside up to what it asks for. */
  readonly #arrive: Gate = (exchange) => {
    const refusal = firstRefusal(this.#identity, exchange);
    return firstRefusal(this.#toll, exchange) ?? refusal;
  };

  /** Those of one that the server makes itself: it is known who asks, and pays elsewhere. */
  readonly #arriveFromInside: Gate = (exchange) => {
    const { attributor, standing } = this.#parts;
    return ledgerGate(attributor)(exchange) ?? refuseInactive(exchange.caller.document, standing);
  };

  /** From the first gate on. */
  #pass(exchange: Exchange, arrive: Gate): Response | Promise<Response> {
    const finish = (reply: Reply): Response => this.#finish(exchange, reply);
    try {
      const refusal = arrive(exchange) ?? exchange.entryRefusal;
      if (refusal === undefined) return this.#admit(exchange, finish);
      // Who has had enough is not told about deprecations.
      if (refusal.status !== 429) this.#lookUp(exchange);
      return finish(replyToRefusal(refusal));
    } catch (error) {
      return finish(this.#fault(exchange, "a gate threw", error));
    }
  }

  #admit<T>(exchange: Exchange, finish: (reply: Reply) => T): T | Promise<T> {
    const refusal = firstRefusal(this.#admission, exchange);
    if (refusal !== undefined) {
      return finish(replyToRefusal(concealRefusal(refusal, exchange.route)));
    }
    const { route } = exchange;
    if (route === undefined) throw new Error("no gate found a route");
    const key = readIdempotencyKey(exchange, route);
    if (key === undefined) return this.#callHandler(exchange, route, finish);
    if (typeof key !== "string") return finish(replyToRefusal(key));
    return this.#answerOnce(exchange, route, key).then(finish);
  }

  /** An answer that comes later is a slice of its own. */
  #finish(exchange: Exchange, reply: Reply): Response {
    if (this.#time.isMeasuring) return this.#respond(exchange, reply);
    const startedAt = performance.now();
    this.#time.begin(startedAt);
    try {
      return this.#respond(exchange, reply);
    } finally {
      this.#settle(exchange, startedAt);
    }
  }

  #respond(exchange: Exchange, reply: Reply): Response {
    let sent = reply;
    let response: Response;
    try {
      response = this.#stamp(reply, exchange);
    } catch (error) {
      sent = this.#fault(exchange, "the body cannot be encoded", error);
      response = this.#stamp(sent, exchange);
    }
    this.#parts.observer.end(exchange, response, sent);
    if (exchange.approval?.isUsed === true) void this.#parts.approvals.answered(exchange, response);
    return response;
  }

  #fault(exchange: Exchange, message: string, cause: unknown): Reply {
    return faultReply(exchange, this.#services, message, cause);
  }

  /** What a handler dispatches. */
  async #dispatch(
    parent: Exchange,
    method: string,
    path: string,
    input: Readonly<Record<string, unknown>>,
  ): Promise<DispatchResult> {
    const request = innerRequest(parent, method, path);
    const inner = new Exchange(request, parent.peer, performance.now(), { parent, input });
    if (inner.depth > MAX_DISPATCH_DEPTH) {
      throw new Error(`dispatched more than ${MAX_DISPATCH_DEPTH} deep at ${method} ${path}`);
    }
    this.#time.begin(inner.startedAt);
    try {
      return this.#admit(inner, (reply) => {
        const isRefused = reply.refusal !== undefined && !isLasting(reply);
        if (inner.route?.isReading !== true && !isRefused) parent.markActed();
        parent.onPart?.(`${method} ${inner.route?.path ?? path}`);
        return resultOf(reply);
      });
    } finally {
      this.#settle(inner, inner.startedAt);
    }
  }
}
