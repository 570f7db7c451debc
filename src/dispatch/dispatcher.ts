/**
 * The pipeline, readable as a list. Every reason a request can be refused stands here in order, and
 * each gate's dependencies are visible here and nowhere else. No socket: a request goes in, a
 * response comes out.   AGTP-API Appendix A.2
 */
import type { Attributor } from "../attribution/attributor.ts";
import type { IdempotencyRegister } from "../attribution/idempotency-register.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { MethodNames } from "../catalog/path-grammar.ts";
import type { PoliciesConfig } from "../config/config.ts";
import type { EndpointRegistry } from "../contract/endpoint-registry.ts";
import type { CallLog, DispatchResult } from "../handlers/handler.ts";
import type { AgentDirectory } from "../identity/agent-directory.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import type { TokenVerifier } from "../identity/bearer-tokens.ts";
import type { Response, WireFault } from "../wire/message.ts";
import { createStandingFields } from "./addressed-agent.ts";
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
import { createAnswerOnce } from "./idempotency.ts";
import { readIdempotencyKey } from "./idempotency-key.ts";
import { innerRequest, resultOf } from "./inner.ts";
import { type Fault, faultReply, type InvokeServices, invoke } from "./invoke.ts";
import type { MethodPolicy } from "./method-policy.ts";
import type { Peer } from "./peer.ts";
import { attributionUnavailable, badRequest, type Refusal } from "./refusal.ts";
import { type Reply, replyToRefusal } from "./reply.ts";
import type { Route } from "./route.ts";
import { createStamp } from "./stamp.ts";
import { supportedMethods } from "./supported-methods.ts";

/** How deep handlers may dispatch into one another. */
const MAX_DISPATCH_DEPTH = 16;

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
  const { catalog, names, policies, methodPolicy, registry, directory, observer } = parts;
  const { attributor, tokens } = parts;
  const standing = standingGate({
    directory,
    policy: policies.identity,
    methodPolicy,
    standing: parts.standing,
  });
  const served = registry.entries.map(({ path }) => path);
  const naming: readonly Gate[] = [
    aliasGate(methodPolicy), //                                                   01
    methodGate(catalog, methodPolicy), //                                         02  459
    pathGate(names, served), //                                                   03  460
    policyGate(methodPolicy, registry, catalog), //                               04  405
  ];
  const admission: readonly Gate[] = [
    ...naming,
    presentationGate(parts.negotiation), //                                        08  464 404 400
    endpointGate({
      registry,
      anonymousDiscovery: policies.anonymousDiscovery,
      tokenMethods: new Set(policies.oauth?.requiredOnMethods),
      onMiss: negotiationGate(parts.negotiation), //                              08
    }), //                                                                        05  401 404 405 262
    inputGate(parts.standing), //                                                 06  422
    scopeGate(policies.scopeRequiredForInvocation), //                            07  455 262
  ];
  const stamp = createStamp({
    serverId: parts.serverId,
    attributor,
    standingFields: createStandingFields(directory, parts.defaultAgent),
    supportedMethods: supportedMethods(registry, methodPolicy),
  });
  const services: InvokeServices = {
    deadlines: parts.deadlines,
    logFor: (exchange) => observer.logFor(exchange),
    reportFault: (fault) => observer.fault(fault),
    dispatch: (parent, method, path, input) => dispatchInner(parent, method, path, input),
  };
  const answerOnce = createAnswerOnce({ register: parts.idempotency, directory, services });

  const admit = <T>(exchange: Exchange, finish: (reply: Reply) => T): T | Promise<T> => {
    for (const gate of admission) {
      const refusal = gate(exchange);
      if (refusal !== undefined) return finish(replyToRefusal(refusal));
    }
    const { route } = exchange;
    if (route === undefined) throw new Error("the endpoint gate resolved nothing");
    const key = readIdempotencyKey(exchange, route);
    if (key === undefined) return invoke(exchange, route, services, finish);
    if (typeof key !== "string") return finish(replyToRefusal(key));
    return answerOnce(exchange, route, key).then(finish);
  };

  /** Every response about a deprecated method or endpoint says so, even one to a stranger.   §13.1 */
  const resolveWarnings = (exchange: Exchange): void => {
    if (naming.some((gate) => gate(exchange) !== undefined)) return;
    resolveRoute(exchange, registry);
  };

  const finish = (exchange: Exchange, reply: Reply): Response => {
    let sent = reply;
    let response: Response;
    try {
      response = stamp(reply, exchange);
    } catch (error) {
      sent = faultReply(exchange, services, "the body cannot be encoded", error);
      response = stamp(sent, exchange);
    }
    observer.end(exchange, response, sent);
    return response;
  };

  /** What an agent of this server asks for is recorded, refusals too, or not looked into. */
  const checkLedger = ({ caller }: Exchange): Refusal | undefined =>
    attributor === undefined || caller.document === undefined || attributor.isWritable
      ? undefined
      : attributionUnavailable();

  const answer = (exchange: Exchange): Response | Promise<Response> => {
    observer.start(exchange);
    const reading = readCredentials(exchange, tokens, parts.delegations);
    if (reading === undefined) return answerIdentified(exchange);
    return reading.then(
      () => answerIdentified(exchange),
      (error: unknown) =>
        finish(exchange, faultReply(exchange, services, "a token could not be judged", error)),
    );
  };

  const answerIdentified = (
    exchange: Exchange,
    identify: Gate = standing,
  ): Response | Promise<Response> => {
    const finishThis = (reply: Reply): Response => finish(exchange, reply);
    try {
      const lapse = identify(exchange); //                                        00  401 410 503
      const refusal = checkLedger(exchange) ?? lapse;
      if (refusal === undefined) return admit(exchange, finishThis);
      resolveWarnings(exchange);
      return finishThis(replyToRefusal(refusal));
    } catch (error) {
      return finishThis(faultReply(exchange, services, "a gate threw", error));
    }
  };

  const dispatchInner = async (
    parent: Exchange,
    method: string,
    path: string,
    input: Readonly<Record<string, unknown>>,
  ): Promise<DispatchResult> => {
    const request = innerRequest(parent, method, path);
    const inner = new Exchange(request, parent.peer, performance.now(), { parent, input });
    if (inner.depth > MAX_DISPATCH_DEPTH) {
      throw new Error(`dispatched more than ${MAX_DISPATCH_DEPTH} deep at ${method} ${path}`);
    }
    return admit(inner, resultOf);
  };

  const act = (exchange: Exchange): Response | Promise<Response> => {
    observer.start(exchange);
    return answerIdentified(exchange, ({ caller }) => lapseOf(caller.document, parts.standing));
  };

  return {
    answer,
    act,
    answerFault: (fault, peer) => {
      const response = stamp(replyToRefusal(badRequest(fault.code, fault.message)));
      observer.wireFault(fault, response, peer);
      return response;
    },
  };
}
