/**
 * The pipeline, readable as a list. Every reason a request can be refused stands here in order, and
 * each gate's dependencies are visible here and nowhere else. No socket: a request goes in, a
 * response comes out.   AGTP-API Appendix A.2
 */

import type { PoliciesConfig } from "../base/config.ts";
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
import { concealRefusal } from "./concealment.ts";
import { readCredentials } from "./credentials.ts";
import type { Deadlines } from "./deadlines.ts";
import type { DelegationReader } from "./delegation.ts";
import { Exchange } from "./exchange.ts";
import { lapseOf, type Standing, standingGate } from "./gates/00-standing.ts";
import { aliasGate } from "./gates/01-alias.ts";
import { methodGate } from "./gates/02-method.ts";
import { pathGate } from "./gates/03-path.ts";
import { policyGate } from "./gates/04-policy.ts";
import { endpointGate, resolveRoute } from "./gates/05-endpoint.ts";
import { inputGate } from "./gates/06-input.ts";
import { scopeGate } from "./gates/07-scope.ts";
import {
  type NegotiationGateOptions,
  negotiationGate,
  presentationGate,
} from "./gates/08-negotiation.ts";
import type { Gate } from "./gates/gate.ts";
import { type AnswerOnce, createAnswerOnce } from "./idempotency.ts";
import { readIdempotencyKey } from "./idempotency-key.ts";
import { isLasting } from "./idempotent-reply.ts";
import { innerRequest, resultOf } from "./inner.ts";
import { type Fault, faultReply, type InvokeServices, invoke } from "./invoke.ts";
import type { LoopTime } from "./loop-time.ts";
import type { MethodPolicy } from "./method-policy.ts";
import { payerOf } from "./payer.ts";
import type { Peer } from "./peer.ts";
import { rateGate } from "./rate-gate.ts";
import type { Rates } from "./rates.ts";
import { attributionUnavailable, badRequest, type Refusal } from "./refusal.ts";
import { type Reply, replyToRefusal } from "./reply.ts";
import type { Route } from "./route.ts";
import { createStamp, type Stamp } from "./stamp.ts";
import { supportedMethods } from "./supported-methods.ts";

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
  readonly standing: Standing;
  /** Undefined: responses carry no record. */
  readonly attributor: Attributor | undefined;
  /** Undefined: bearer tokens are not looked at. */
  readonly tokens: TokenVerifier | undefined;
  /** Undefined: no peer vouches for anybody. */
  readonly delegations: DelegationReader | undefined;
  readonly negotiation: NegotiationGateOptions;
  readonly deadlines: Deadlines;
  /** What everybody has taken, and who pays for what is taken here. */
  readonly rates: Rates;
  readonly time: LoopTime;
  readonly idempotency: IdempotencyRegister;
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

/** Builds the pipeline. */
export function createDispatcher(parts: DispatcherParts): Dispatcher & InnerEntrance {
  return new Pipeline(parts);
}

/** Who is asking, and how much it has had: known first, said last. */
function arrivalGate(standing: Gate, rate: Gate): Gate {
  return (exchange) => {
    const lapse = standing(exchange);
    return rate(exchange) ?? lapse;
  };
}

/** The gates that settle which method and path are answered. */
function namingGates({ catalog, names, methodPolicy, registry }: DispatcherParts): readonly Gate[] {
  return [
    aliasGate(methodPolicy), //                                                   01
    methodGate(catalog, methodPolicy), //                                         02  459
    pathGate(names, registry), //                                                 03  460
    policyGate(methodPolicy, registry, catalog), //                               04  405
  ];
}

/** All gates behind the first. */
function admissionGates(naming: readonly Gate[], parts: DispatcherParts): readonly Gate[] {
  const { registry, policies, negotiation, standing } = parts;
  return [
    ...naming,
    presentationGate(negotiation), //                                             08  464 404 400
    endpointGate({
      registry,
      anonymousDiscovery: policies.anonymousDiscovery,
      tokenMethods: new Set(policies.oauth?.requiredOnMethods),
      onMiss: negotiationGate(negotiation), //                                    08
    }), //                                                                        05  401 404 405 262
    inputGate(standing), //                                                       06  422
    scopeGate(policies.scopeRequiredForInvocation), //                            07  455 262
  ];
}

/** Whatever fails from here on, nobody can say that nothing was done. */
function markActed(exchange: Exchange): void {
  exchange.hasActed = true;
  if (exchange.inner !== undefined) markActed(exchange.inner.parent);
}

class Pipeline implements Dispatcher, InnerEntrance {
  readonly #parts: DispatcherParts;
  readonly #arrival: Gate;
  readonly #time: LoopTime;
  readonly #naming: readonly Gate[];
  readonly #admission: readonly Gate[];
  readonly #stamp: Stamp;
  readonly #services: InvokeServices;
  readonly #answerOnce: AnswerOnce;

  constructor(parts: DispatcherParts) {
    const { directory, policies, methodPolicy, registry, observer } = parts;
    const { standing, attributor, idempotency, deadlines, serverId } = parts;
    this.#parts = parts;
    this.#arrival = arrivalGate(
      standingGate({ directory, policy: policies.identity, methodPolicy, standing }),
      rateGate(parts.rates),
    );
    this.#time = parts.time;
    this.#naming = namingGates(parts);
    this.#admission = admissionGates(this.#naming, parts);
    this.#stamp = createStamp({
      ...{ serverId, attributor },
      standingFields: createStandingFields(directory, parts.defaultAgent),
      supportedMethods: supportedMethods(registry, methodPolicy),
    });
    this.#services = {
      deadlines,
      logFor: (exchange) => observer.logFor(exchange),
      reportFault: (fault) => observer.fault(fault),
      dispatch: (parent, method, path, input) => this.#dispatch(parent, method, path, input),
    };
    this.#answerOnce = createAnswerOnce({
      ...{ register: idempotency, directory, services: this.#services },
    });
  }

  answer(exchange: Exchange): Response | Promise<Response> {
    const { observer, tokens, delegations } = this.#parts;
    observer.start(exchange);
    const reading = readCredentials(exchange, tokens, delegations);
    if (reading === undefined) return this.#ask(this.#arrival, exchange, exchange.startedAt);
    return reading.then(
      () => this.#ask(this.#arrival, exchange, performance.now()),
      (cause: unknown) => this.#finish(exchange, this.#fault(exchange, UNJUDGED, cause)),
    );
  }

  act(exchange: Exchange): Response | Promise<Response> {
    const { observer, standing } = this.#parts;
    observer.start(exchange);
    const identify: Gate = ({ caller }) => lapseOf(caller.document, standing);
    return this.#ask(identify, exchange, exchange.startedAt);
  }

  answerFault(fault: WireFault, peer?: Peer): Response {
    const response = this.#stamp(replyToRefusal(badRequest(fault.code, fault.message)));
    this.#parts.observer.wireFault(fault, response, peer);
    return response;
  }

  /** What is done at once is one slice of the loop. */
  #ask(identify: Gate, exchange: Exchange, startedAt: number): Response | Promise<Response> {
    this.#time.begin(startedAt);
    try {
      return this.#answerFrom(identify, exchange);
    } finally {
      this.#settle(exchange, startedAt);
    }
  }

  #settle(exchange: Exchange, startedAt: number): void {
    const spent = this.#time.end(startedAt);
    if (spent > 0) this.#time.charge(payerOf(exchange), spent);
  }

  /** From the first gate on, which says who is asking. */
  #answerFrom(identify: Gate, exchange: Exchange): Response | Promise<Response> {
    const finish = (reply: Reply): Response => this.#finish(exchange, reply);
    try {
      const lapse = identify(exchange); //                                        00  401 410 503 429
      const refusal = this.#checkLedger(exchange) ?? lapse;
      if (refusal === undefined) return this.#admit(exchange, finish);
      // Who has had enough is not told about deprecations.
      if (refusal.status !== 429) this.#resolveWarnings(exchange);
      return finish(replyToRefusal(refusal));
    } catch (error) {
      return finish(this.#fault(exchange, "a gate threw", error));
    }
  }

  #admit<T>(exchange: Exchange, finish: (reply: Reply) => T): T | Promise<T> {
    for (const gate of this.#admission) {
      const refusal = gate(exchange);
      if (refusal !== undefined) {
        return finish(replyToRefusal(concealRefusal(refusal, exchange.route)));
      }
    }
    const { route } = exchange;
    if (route === undefined) throw new Error("the endpoint gate resolved nothing");
    const key = readIdempotencyKey(exchange, route);
    if (key === undefined) return invoke(exchange, route, this.#services, finish);
    if (typeof key !== "string") return finish(replyToRefusal(key));
    return this.#answerOnce(exchange, route, key).then(finish);
  }

  /** What an agent of this server asks for is recorded, refusals too, or not looked into. */
  #checkLedger({ caller }: Exchange): Refusal | undefined {
    const { attributor } = this.#parts;
    const isRecorded = attributor !== undefined && caller.document !== undefined;
    return isRecorded && !attributor.isWritable ? attributionUnavailable() : undefined;
  }

  /** Every response about a deprecated method or endpoint says so, even one to a stranger.   §13.1 */
  #resolveWarnings(exchange: Exchange): void {
    if (this.#naming.some((gate) => gate(exchange) !== undefined)) return;
    resolveRoute(exchange, this.#parts.registry);
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
        if (inner.route?.isReading !== true && !isRefused) markActed(parent);
        return resultOf(reply);
      });
    } finally {
      this.#settle(inner, inner.startedAt);
    }
  }
}
